// Times ada over a list of URLs: `ada FILE ROUNDS`. Prints as rust/src/main.rs does.

#include "ada.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

static uint64_t cpu_nanos() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return uint64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

template <class Work>
static void time_it(const char *name, const std::vector<std::string> &urls, int rounds, Work work) {
  std::vector<uint64_t> times;
  size_t refused = 0, bytes = 0;
  for (int r = 0; r < rounds; r++) {
    refused = 0;
    uint64_t start = cpu_nanos();
    for (const std::string &u : urls) {
      size_t n = work(u);
      refused += n == 0;
      bytes += n;
    }
    times.push_back(cpu_nanos() - start);
  }
  std::sort(times.begin(), times.end());
  printf("%s\t%f\t%zu\n", name, double(times[rounds / 2]) / urls.size(), refused);
  if (bytes == 0) exit(1);  // so that the work can't be left out
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  std::ifstream in(argv[1]);
  std::vector<std::string> urls;
  for (std::string line; std::getline(in, line);) urls.push_back(line);
  int rounds = atoi(argv[2]);
  time_it("C++ ada " ADA_VERSION ": parse", urls, rounds, [](const std::string &u) {
    auto url = ada::parse<ada::url_aggregator>(u);
    return url ? url->get_href().size() : 0;
  });
  time_it("C++ ada " ADA_VERSION ": parse, sort, no fragment", urls, rounds, [](const std::string &u) {
    auto url = ada::parse<ada::url_aggregator>(u);
    if (!url) return size_t(0);
    if (!url->get_search().empty()) {
      ada::url_search_params params(url->get_search());
      params.sort();
      url->set_search(params.to_string());
    }
    url->set_hash("");
    return url->get_href().size();
  });
}
