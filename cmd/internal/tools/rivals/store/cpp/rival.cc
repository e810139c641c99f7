// Rival is a seen-set on RocksDB or SQLite that cmd/internal/tools/rivals/store drives through
// pipes, so that it gets the same keys as the others.
//
//   g++ -O2 -DROCKSDB -o rocksdb rival.cc -lrocksdb -pthread (Debian: librocksdb-dev)
//   g++ -O2 -DSQLITE  -o sqlite  rival.cc -lsqlite3 -pthread (Debian: libsqlite3-dev)
//
// Integers are big-endian. Many calls may be in progress; answers come in any order.
// stdin:  number of the call (4 bytes), count (4 bytes), then as many keys of 16 bytes; a count of 0
//         asks whether it compacts
// stdout: number of the call, count of bytes (4 bytes each); a byte for each key, 1 for a new one, when
//         all are durable, or a byte that is 1 while it compacts; then 8 bytes, the processor time used
//         so far in µs
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

constexpr size_t kKey = 16;

[[noreturn]] static void Die(const std::string& what) {
  fprintf(stderr, "rival: %s\n", what.c_str());
  exit(1);
}

#ifdef ROCKSDB
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

class Engine {
 public:
  explicit Engine(const std::string& dir) {
    rocksdb::Options o;
    o.create_if_missing = true;
    o.IncreaseParallelism(2);
    o.compression = rocksdb::kNoCompression;
    o.write_buffer_size = 64 << 20;
    o.max_write_buffer_number = 4;
    rocksdb::BlockBasedTableOptions t;
    t.block_cache = rocksdb::NewLRUCache(512 << 20);
    t.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
    t.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    t.format_version = 5;
    o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(t));
    if (auto s = rocksdb::DB::Open(o, dir, &db_); !s.ok()) Die(s.ToString());
  }

  // Sorted MultiGet, then one batch of the new keys. One call at a time looks up and writes, so only one
  // gets "new" for a key. Calls share syncs.
  void See(const std::vector<char>& keys, const std::vector<uint32_t>& order, std::vector<char>* fresh) {
    size_t n = order.size();
    std::vector<rocksdb::Slice> slices(n);
    for (size_t i = 0; i < n; i++) slices[i] = {&keys[order[i] * kKey], kKey};
    std::vector<rocksdb::PinnableSlice> values(n);
    std::vector<rocksdb::Status> found(n);
    std::unique_lock<std::mutex> turn(turn_);
    db_->MultiGet({}, db_->DefaultColumnFamily(), n, slices.data(), values.data(), found.data(), true);
    rocksdb::WriteBatch b;
    for (size_t i = 0; i < n; i++) {
      if (found[i].ok()) continue;
      if (!found[i].IsNotFound()) Die(found[i].ToString());
      if (i > 0 && slices[i] == slices[i - 1]) continue;
      (*fresh)[order[i]] = 1;
      b.Put(slices[i], {});
    }
    if (auto s = db_->Write({}, &b); !s.ok()) Die(s.ToString());
    turn.unlock();
    if (auto s = db_->SyncWAL(); !s.ok()) Die(s.ToString());
  }
  bool Compacts() {
    using P = rocksdb::DB::Properties;
    for (const auto& p : {P::kNumRunningCompactions, P::kCompactionPending, P::kNumRunningFlushes, P::kMemTableFlushPending}) {
      uint64_t n = 0;
      if (!db_->GetIntProperty(p, &n)) Die("cannot read " + p);
      if (n > 0) return true;
    }
    return false;
  }
  ~Engine() { delete db_; }

 private:
  rocksdb::DB* db_;
  std::mutex turn_;
};
#endif

#ifdef SQLITE
#include <sqlite3.h>

class Engine {
 public:
  explicit Engine(const std::string& dir) {
    if (sqlite3_open((dir + "/seen.sqlite").c_str(), &db_) != SQLITE_OK) Die("cannot open");
    Run("PRAGMA journal_mode=WAL");
    Run("PRAGMA synchronous=FULL");
    Run("PRAGMA cache_size=-524288");
    Run("CREATE TABLE IF NOT EXISTS seen(k BLOB PRIMARY KEY) WITHOUT ROWID");
    if (sqlite3_prepare_v2(db_, "INSERT OR IGNORE INTO seen VALUES(?)", -1, &insert_, nullptr) != SQLITE_OK) Die("cannot prepare");
  }

  // One transaction of sorted inserts; those that change something are new.
  void See(const std::vector<char>& keys, const std::vector<uint32_t>& order, std::vector<char>* fresh) {
    std::lock_guard<std::mutex> turn(turn_);
    Run("BEGIN IMMEDIATE");
    for (uint32_t i : order) {
      sqlite3_bind_blob(insert_, 1, &keys[i * kKey], kKey, SQLITE_STATIC);
      if (sqlite3_step(insert_) != SQLITE_DONE) Die(sqlite3_errmsg(db_));
      (*fresh)[i] = sqlite3_changes(db_) > 0;
      sqlite3_reset(insert_);
    }
    Run("COMMIT");
  }
  bool Compacts() { return false; }
  ~Engine() {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }

 private:
  void Run(const char* sql) {
    char* err = nullptr;
    if (sqlite3_exec(db_, sql, nullptr, nullptr, &err) != SQLITE_OK) Die(err);
  }
  sqlite3* db_;
  sqlite3_stmt* insert_;
  std::mutex turn_;
};
#endif

static bool ReadFull(void* p, size_t n) {
  return fread(p, 1, n, stdin) == n;
}

static void PutBig(std::vector<char>* out, uint64_t v) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}

static uint64_t MicrosUsed() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000ull + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static uint32_t Big32(const unsigned char* p) { return uint32_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static std::mutex answering;

static void Answer(Engine* e, uint32_t call, const std::vector<char>& keys) {
  size_t n = keys.size() / kKey;
  std::vector<char> fresh(n, 0), out;
  if (n == 0) {
    fresh.push_back(e->Compacts());
  } else {
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return memcmp(&keys[a * kKey], &keys[b * kKey], kKey) < 0; });
    e->See(keys, order, &fresh);
  }
  PutBig(&out, uint64_t{call} << 32 | fresh.size());
  out.insert(out.end(), fresh.begin(), fresh.end());
  PutBig(&out, MicrosUsed());
  std::lock_guard<std::mutex> turn(answering);
  if (fwrite(out.data(), 1, out.size(), stdout) != out.size() || fflush(stdout) != 0) Die("cannot answer");
}

int main(int argc, char** argv) {
  if (argc != 2) Die("usage: rival DIR");
  Engine e(argv[1]);
  unsigned char head[8];
  while (ReadFull(head, 8)) { // the caller has all answers before it ends the input
    std::vector<char> keys(Big32(head + 4) * kKey);
    if (!ReadFull(keys.data(), keys.size())) Die("a batch ends too early");
    std::thread(Answer, &e, Big32(head), std::move(keys)).detach();
  }
}
