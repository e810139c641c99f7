package foreignforms

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// export is a table that some program writes.
//
// columns lists NAME:KIND, separated by "|". Kinds of URLs: U is the URL of the row, P the same as a path on the site of
// --base. The other kinds with absolute URLs are decoys: R a page that links to the row's, C its canonical URL, O another
// page about it, G an image, and F a redirect target, which most rows lack. For the rest see cell.
type export struct {
	name, origin string
	seps         string // separators that the program writes; "" for any
	columns      string
	pre          string // lines before the header, or "" for none; the program always writes them
	hashHeader   bool   // the header is the last comment line
	refuse       bool   // two columns are equally the URL: a reader has to ask
}

var exports = []export{
	// Search engines and analytics.
	{name: "searchconsole-pages", origin: "Google Search Console, performance report, Pages.csv", seps: ",",
		columns: "Top pages:U|Clicks:n|Impressions:n|CTR:%|Position:d"},
	{name: "searchconsole-coverage", origin: "Google Search Console, page indexing, Table.csv", seps: ",",
		columns: "URL:U|Last crawled:D"},
	{name: "searchconsole-links", origin: "Google Search Console, top linked pages", seps: ",",
		columns: "Target page:U|Incoming links:n|Linking sites:n"},
	{name: "searchconsole-de", origin: "Google Search Console in German", columns: "Häufigste Seiten:U|Klicks:n|Impressionen:n|CTR:%|Position:d"},
	{name: "searchconsole-fr", origin: "Google Search Console in French", columns: "Pages les plus populaires:U|Clics:n|Impressions:n|CTR:%|Position:d"},
	{name: "searchconsole-es", origin: "Google Search Console in Spanish", columns: "Páginas principales:U|Clics:n|Impresiones:n|CTR:%|Posición:d"},
	{name: "searchconsole-ja", origin: "Google Search Console in Japanese", columns: "上位のページ:U|クリック数:n|表示回数:n|CTR:%|掲載順位:d"},
	{name: "searchconsole-ru", origin: "Google Search Console in Russian", columns: "Самые популярные страницы:U|Клики:n|Показы:n|CTR:%|Позиция:d"},
	{name: "searchconsole-bigquery", origin: "Search Console bulk export, searchdata_url_impression", seps: ",",
		columns: "data_date:D|site_url:O|url:U|query:k|country:w|device:w|impressions:n|clicks:n|sum_position:n"},
	{name: "bing-pages", origin: "Bing Webmaster Tools, page traffic", seps: ",", columns: "Page:U|Clicks:n|Impressions:n|CTR:%|Avg. Position:d"},
	{name: "ga4-pages", origin: "Google Analytics 4, pages and screens, download as CSV", seps: ",",
		pre: "# ----------------------------------------\n# Pages and screens\n# Account: Example\n# Property: www.example.com - GA4\n" +
			"# ----------------------------------------\n#\n# All Users\n# Start date: 20261029\n# End date: 20261125",
		columns: "Page path and screen class:P|Views:n|Active users:n|Views per active user:d|Total revenue:n"},
	{name: "ga4-bigquery", origin: "Google Analytics 4 in BigQuery, event_params unnested", seps: ",",
		columns: "event_date:n|event_timestamp:E|event_name:w|page_location:U|page_referrer:R|page_title:T|user_pseudo_id:d"},
	{name: "matomo-pages", origin: "Matomo, Actions.getPageUrls as CSV (UTF-16LE by default)", seps: ",",
		columns: "label:p|nb_visits:n|nb_hits:n|sum_time_spent:n|exit_rate:%|metadata_url:U|metadata_segment:g"},
	// SEO tools.
	{name: "screamingfrog", origin: "Screaming Frog SEO Spider, internal_all.csv", seps: ",",
		columns: "Address:U|Content Type:m|Status Code:S|Status:w|Indexability:w|Title 1:T|Title 1 Length:n|Meta Description 1:T|" +
			"Canonical Link Element 1:C|Word Count:n|Hash:i|Redirect URL:F|Crawl Timestamp:D"},
	{name: "screamingfrog-old", origin: "Screaming Frog before version 10: the report's name comes first", seps: ",", pre: `"Internal - All"`,
		columns: "Address:U|Content:m|Status Code:S|Status:w|Title 1:T|Title 1 Length:n|Canonical Link Element 1:C|Redirect URI:F"},
	{name: "screamingfrog-fr", origin: "Screaming Frog in French", columns: "Adresse:U|Type de contenu:m|Code de statut:S|Titre 1:T|Longueur du titre 1:n"},
	{name: "screamingfrog-es", origin: "Screaming Frog in Spanish", columns: "Dirección:U|Tipo de contenido:m|Código de respuesta:S|Título 1:T"},
	{name: "ahrefs-toppages", origin: "Ahrefs, top pages (TSV in UTF-16 for Excel)", seps: "\t,",
		columns: "#:n|URL:U|Status:w|Traffic:n|Value:d|Keywords:n|Top keyword:k|Volume:n|Position:n"},
	{name: "semrush-positions", origin: "Semrush, organic positions", seps: ";,",
		columns: "Keyword:k|Position:n|Previous position:n|Search Volume:n|Keyword Difficulty:n|CPC:d|URL:U|Traffic:n|Traffic (%):d|Trends:v|Timestamp:D|SERP Features by Keyword:t"},
	{name: "sitebulb", origin: "Sitebulb, URL list export", seps: ",", columns: "URL:U|Crawl Depth:n|HTTP Status Code:S|Title:T|Canonical URL:C|Redirect URL:F"},
	{name: "majestic-pages", origin: "Majestic, pages of a site", seps: ",", columns: "URL:U|Title:T|Citation Flow:n|Trust Flow:n|External Backlinks:n|Crawl Date:D"},
	// Data sets, feeds and queries.
	{name: "advertools-sitemap", origin: "advertools, sitemap_to_df().to_csv()", seps: ",", columns: "loc:U|lastmod:D|changefreq:w|priority:d|sitemap:O|sitemap_size_mb:d|download_date:D"},
	{name: "commoncrawl-athena", origin: "Common Crawl columnar index, Athena result", seps: ",",
		columns: "url_surtkey:s|url:U|url_host_name:h|fetch_time:D|fetch_status:S|content_mime_type:m|warc_filename:z|warc_record_offset:n"},
	{name: "athena-alb", origin: "Athena, table of ALB logs, results are all quoted", seps: ",",
		columns: "type:w|time:D|elb:z|client_ip:I|elb_status_code:S|request_verb:M|request_url:U|user_agent:T|redirect_url:F"},
	{name: "phishtank", origin: "PhishTank, online-valid.csv", seps: ",", columns: "phish_id:n|url:U|phish_detail_url:O|submission_time:D|verified:w|verification_time:D|online:w|target:w"},
	{name: "urlhaus", origin: "abuse.ch URLhaus dump: the header is a comment", seps: ",", hashHeader: true,
		pre:     "################################################################\n# URL database dump (recent URLs only)                          #\n# Last updated: 2026-11-26 10:00:00 (UTC)                       #\n################################################################\n#",
		columns: "id:n|dateadded:D|url:U|url_status:w|last_online:D|threat:w|tags:t|urlhaus_link:O|reporter:w"},
	{name: "phiusiil", origin: "PhiUSIIL phishing URL data set (UCI, Kaggle)", seps: ",", columns: "FILENAME:z|URL:U|URLLength:n|Domain:h|DomainLength:n|IsDomainIP:n|TLD:w|Title:T|label:n"},
	{name: "uci-news", origin: "UCI news aggregator data set (Kaggle): TSV, quotes are plain characters", seps: "\t", columns: "ID:n|TITLE:T|URL:U|PUBLISHER:w|CATEGORY:w|STORY:i|HOSTNAME:h|TIMESTAMP:E"},
	{name: "merchant-feed", origin: "Google Merchant Center product feed", seps: "\t,", columns: "id:n|title:T|description:T|link:U|image_link:G|availability:w|price:d"},
	{name: "scrapy", origin: "Scrapy feed export", seps: ",", columns: "title:T|price:d|image_urls:G|url:U|tags:t"},
	{name: "requests-sql", origin: "database query of a request table", columns: "ts:D|client_ip:I|method:M|url:U|referrer:R|status:S|user:@"},
	// Bookmarks, content management, networks.
	{name: "pocket", origin: "Pocket export, part_000000.csv", seps: ",", columns: "title:T|url:U|time_added:E|tags:v|status:w"},
	{name: "raindrop", origin: "Raindrop.io export", seps: ",", columns: "id:n|title:T|note:T|excerpt:T|url:U|folder:w|tags:t|created:D|cover:G|highlights:T|favorite:w"},
	{name: "instapaper", origin: "Instapaper export", seps: ",", columns: "URL:U|Title:T|Selection:T|Folder:w|Timestamp:E"},
	{name: "takeout-subscriptions", origin: "Google Takeout, subscriptions.csv", seps: ",", columns: "Channel Id:i|Channel Url:U|Channel Title:T"},
	{name: "linkedin-connections", origin: "LinkedIn Connections.csv: notes come before the header", seps: ",",
		pre:     "Notes:\n\"Some addresses are missing, as members can hide them, see https://decoy.example/psettings. Read more at https://decoy.example/help\"\n",
		columns: "First Name:w|Last Name:w|URL:U|Email Address:@|Company:k|Position:k|Connected On:D"},
	{name: "wp-all-export", origin: "WP All Export (WordPress)", columns: "ID:n|Title:T|Permalink:U|Image URL:G|Date:D|Author Email:@"},
	{name: "list-with-header", origin: "one column with a header, as from a database", columns: "url:U"},
	// The word for URL in other languages.
	{name: "german", origin: "German header", columns: "Titel:T|Webadresse:U|Aufrufe:n|Datum:D"},
	{name: "polish", origin: "Polish header", columns: "Tytuł:T|Adres URL:U|Odsłony:n"},
	{name: "portuguese", origin: "Portuguese header", columns: "Endereço:U|Título:T|Visualizações:n"},
	{name: "turkish", origin: "Turkish header", columns: "Başlık:T|Bağlantı:U|Tarih:D"},
	{name: "chinese", origin: "Chinese header", columns: "标题:T|网址:U|状态码:S"},
	{name: "korean", origin: "Korean header", columns: "제목:T|주소:U|조회수:n"},
	{name: "russian", origin: "Russian header", columns: "Заголовок:T|Адрес страницы:U|Код ответа:S"},
	{name: "screamingfrog-inlinks", origin: "Screaming Frog, all_inlinks.csv", seps: ",", columns: "Type:w|Source:R|Destination:U|Size (Bytes):n|Anchor:T|Status Code:S"},
	// Two columns, and nothing that tells which.
	{name: "ahrefs-backlinks", origin: "Ahrefs, backlinks", seps: "\t,", refuse: true, columns: "Referring page title:T|Referring page URL:R|Domain rating:n|Target URL:O|Anchor:T|First seen:D"},
	{name: "semrush-backlinks", origin: "Semrush, backlinks", seps: ",;", refuse: true, columns: "Page ascore:n|Source title:T|Source url:R|Target url:O|Anchor:T|External links:n"},
	{name: "redirect-map", origin: "redirects of a moved site", refuse: true, columns: "Old URL:R|New URL:O|Code:S"},
	// No URL at all.
	{name: "customers", origin: "customer list", refuse: true, columns: "First Name:w|Last Name:w|Email Address:@|Company:k|IP:I|Last Login:D|Orders:n"},
	{name: "measurements", origin: "sensor data", refuse: true, columns: "ts:E|sensor:i|temperature:d|humidity:%"},
}

// made returns a table with columns in any order, as people make them with a database or a script.
func (g *gen) made() export {
	columns := []string{"id:n", "title:T", "description:T", "status:S", "method:M", "ip:I", "email:@", "referrer:R", "canonical_url:C",
		"image_url:G", "redirect_url:F", "timestamp:E", "date:D", "content_type:m", "host:h", "score:d", "tags:t", "ratio:%"}
	g.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	columns = columns[:1+g.IntN(6)]
	at := g.IntN(len(columns) + 1)
	main := pick(g, "url", "URL", "page_url", "Page URL", "link", "Address", "request_url") + ":U"
	columns = append(columns[:at:at], append([]string{main}, columns[at:]...)...)
	return export{name: "made", origin: "columns of a query or a script", columns: strings.Join(columns, "|")}
}

var texts = []string{
	"About us", "Home | Example Shop", "Shoes, bags & belts", "Terms; conditions; imprint", `The "best" tea, they say`,
	"Crème brûlée, l'original", "Größe, Maße & Gewicht", "Señor Ñandú", "50% off!", "=HYPERLINK(A1)", "'quoted' text", "# not a comment",
	"see https://decoy.example/text for more", "www.decoy.example", "/not/the/url", "GET /decoy HTTP/1.1", "-", "", "0", "NULL", "N/A", `\N`,
	"Контакты", "会社概要", "Über uns – Kontakt", "naïve café", "5' 11\" tall", "a\\b", "tab\there",
}

// texts of more than one line; the second one has a line that is a URL, which isn't the row's
var longTexts = []string{"first line\nsecond line", "see also:\nhttps://decoy.example/line\nand more", "one\n\nthree, four; five"}

// layout is how a table is written.
type layout struct {
	sep, quote, eol string
	header          bool
	joined          bool   // a blank follows each separator
	leading         bool   // without quoting: texts may start with a quote
	date            string // form of the day of the month
}

func (g *gen) cell(kind string, row int, l layout) string {
	switch kind {
	case "U":
		for {
			// Without quotes a URL must not have the separator, and without a header none of the others either:
			// nobody could tell then where the URL ends.
			if u := g.url(); l.quote != "unquoted" || !strings.ContainsAny(u, l.sep) && (l.header || !strings.ContainsAny(u, ",;|")) {
				return u
			}
		}
	case "P":
		for {
			if p := g.path(); l.quote != "unquoted" || !strings.ContainsAny(p, l.sep) {
				return p
			}
		}
	case "R", "C", "O":
		return g.decoy(map[string]string{"R": "ref", "C": "canonical", "O": "other"}[kind])
	case "F":
		if row%5 == 1 {
			return g.decoy("redirect")
		}
		return ""
	case "G":
		return fmt.Sprintf("https://decoy.example/img/%d.jpg", g.IntN(100000))
	case "T":
		if l.quote != "unquoted" && l.eol != "\r" && g.chance(20) {
			return pick(g, longTexts...)
		}
		if l.leading && g.chance(40) {
			return pick(g, `"Titanfall" gets a release date`, `"Quoted" and "quoted again"`, `5" screens`)
		}
		return pick(g, texts...)
	case "n":
		return fmt.Sprint(g.IntN(100000))
	case "d":
		point := "."
		if l.sep == ";" && l.header && g.chance(50) {
			point = ","
		}
		return fmt.Sprintf("%d%s%02d", g.IntN(500), point, g.IntN(100))
	case "%":
		return fmt.Sprintf("%d.%d%%", g.IntN(100), g.IntN(10))
	case "D":
		return fmt.Sprintf(l.date, 1+g.IntN(28))
	case "E":
		return fmt.Sprint(1790000000+g.IntN(1000000)) + pick(g, "", "000", ".123")
	case "S":
		return pick(g, "200", "200", "301", "404", "500")
	case "M":
		return pick(g, "GET", "GET", "HEAD", "POST")
	case "I":
		return g.ip()
	case "@":
		return fmt.Sprintf("user%d@mail.example", g.IntN(1000))
	case "h":
		return g.host()
	case "m":
		return pick(g, "text/html", "text/html; charset=UTF-8", "image/jpeg", "application/pdf")
	case "t":
		return pick(g, "elf,mozi", "a;b;c", "news", "", "one, two")
	case "v":
		return pick(g, "0.81,1.00,0.66", "read|later", "1|2|3")
	case "k":
		return pick(g, "buy shoes online", "Example, Inc.", "Müller & Söhne", "how to: csv")
	case "i":
		return fmt.Sprintf("%08x", g.Uint32())
	case "p":
		return fmt.Sprintf("/label/%d", g.IntN(1000))
	case "g":
		return "pageUrl==https%3A%2F%2Fdecoy.example%2Fsegment"
	case "s":
		return fmt.Sprintf("example,www)/page/%d?a=1", g.IntN(1000))
	case "z":
		return pick(g, "crawl-data/CC-MAIN-2026-47/warc/CC-MAIN-00001.warc.gz", "app/lb/50dc6c495c0c9188", "521848.txt")
	default: // w: one word
		return pick(g, "OK", "true", "desktop", "online", "Indexable", "malware_download", "Other")
	}
}

// row writes cells as one line, or as several if a cell has line ends.
func (l layout) row(cells []string) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		quote := l.quote == "quotedall" || l.quote != "unquoted" && strings.ContainsAny(c, l.sep+"\"\n\r")
		if l.quote == "quoted" && !l.header && strings.ContainsAny(c, ",;|\t") {
			quote = true // without a header, only quotes tell which of the separators is the separator
		}
		switch {
		case quote && l.quote == "backslash":
			c = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c) + `"`
		case quote:
			c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		case l.quote == "unquoted":
			c = strings.NewReplacer(l.sep, " ", "\n", " ").Replace(c)
			if !l.leading {
				c = strings.TrimLeft(c, `"`)
			}
		}
		if i == 0 && len(c) > 1 {
			c = strings.TrimPrefix(c, "# ") // the whole line would look like a comment
		}
		out[i] = c
	}
	sep := l.sep
	if l.joined && sep == "|" {
		sep = " | "
	} else if l.joined {
		sep += " "
	}
	return strings.Join(out, sep)
}

func (g *gen) table() File {
	if g.chance(4) {
		return g.noTable()
	}
	e := exports[g.IntN(len(exports))]
	if g.chance(35) {
		e = g.made()
	}
	var names, kinds []string
	for _, c := range strings.Split(e.columns, "|") {
		at := strings.LastIndex(c, ":")
		names, kinds = append(names, c[:at]), append(kinds, c[at+1:])
	}
	all := strings.Join(kinds, "")
	col := strings.IndexAny(all, "UP")
	relative := strings.Contains(all, "P")

	l := layout{sep: pick(g, ",", ";", "|", "\t"), header: true, eol: pick(g, "\n", "\n", "\r\n", "\r\n", "\r"),
		quote: pick(g, "unquoted", "unquoted", "quoted", "quoted", "quoted", "quotedall", "quotedall"),
		date:  pick(g, "2026-11-%02d", "2026-11-%02d 10:20:30", "2026-11-%02dT10:20:30Z", "%02d.11.2026", "%02d Nov 2026")}
	if e.seps != "" && g.chance(60) || e.pre != "" {
		l.sep = string(e.seps[g.IntN(len(e.seps))])
	}
	if g.chance(4) {
		l.quote = "backslash" // MySQL's INTO OUTFILE … ENCLOSED BY '"', Hadoop, ClickHouse
	}
	if e.name == "uci-news" {
		l.sep, l.quote = "\t", "unquoted"
	}
	if e.hashHeader {
		l.quote = "quotedall"
	}
	if e.pre == "" && !e.refuse && !relative && len(kinds) > 1 && g.chance(30) {
		l.header = false
	}

	f := File{Telling: l.quote != "backslash", Why: e.origin}
	if relative {
		f.Flags = []string{"--base", "https://www.example.com/"}
	}
	if !l.header {
		f.Why += ", without its header"
		switch {
		case strings.ContainsAny(all, "RCO"):
			e.refuse = true
		case strings.ContainsAny(all, "FG"):
			f.Telling = false
		}
	}
	if e.refuse {
		f.Telling = false
	}

	// What stands before, between and after the rows. A relative URL has no mark of its own, so that tables of
	// paths get only what can't be taken for one.
	var traits []string
	trait := func(percent int, name string) bool {
		if !g.chance(percent) {
			return false
		}
		traits = append(traits, name)
		return true
	}
	var lines []string
	if e.pre == "" && trait(10, "sepline") { // Excel
		lines = append(lines, "sep="+l.sep)
	}
	if e.pre != "" {
		lines = append(lines, strings.Split(e.pre, "\n")...)
	} else if l.header && !relative && trait(15, "reporttitle") {
		lines = append(lines, pick(g, "Report for www.example.com", `"Report for www.example.com, 1 Nov 2026 - 26 Nov 2026"`), "")
	}
	if e.pre == "" && trait(12, "comments") {
		lines = append(lines, "# exported 2026-11-26 10:00", "# source: https://decoy.example/export, filtered")
	}
	l.joined = l.quote == "unquoted" && l.sep != "\t" && trait(15, "padded")
	l.leading = l.quote == "unquoted" && l.sep == "\t" && strings.Contains(all, "T") && trait(40, "leadingquote")
	single := len(kinds) == 1 // more cells would look like a part of the URL
	tail := ""
	if !single && trait(12, "trailingsep") {
		tail = l.sep
	}
	switch {
	case e.hashHeader:
		lines = append(lines, "# "+strings.Join(names, l.sep))
	case l.header:
		lines = append(lines, l.row(names)+tail)
	}

	// Rows.
	ragged := !relative && !single && !e.refuse && trait(15, "ragged")
	blank := trait(15, "blanklines")
	empty := !relative && trait(8, "emptyrows")
	rows := 3 + g.IntN(8)
	if g.chance(8) {
		rows = 60
	}
	for r := range rows {
		cells := make([]string, len(kinds))
		for i, k := range kinds {
			cells[i] = g.cell(k, r, l)
			if i == col && !e.refuse {
				f.Want = append(f.Want, map[bool]string{true: "https://www.example.com"}[relative]+cells[i])
			}
		}
		if ragged && g.chance(40) {
			if least := col + 1; g.chance(50) && len(cells) > least {
				cells = cells[:least+g.IntN(len(cells)-least)]
			} else {
				cells = append(cells, "extra", "cells")
			}
		}
		lines = append(lines, l.row(cells)+tail)
		if blank && g.chance(30) {
			lines = append(lines, "")
		}
		if empty && g.chance(30) {
			lines = append(lines, l.row(make([]string, len(kinds))))
		}
	}
	if !relative && strings.Contains(all, "n") && trait(12, "totals") {
		cells := make([]string, len(kinds))
		for i, k := range kinds {
			if k == "n" {
				cells[i] = "123456"
			}
		}
		cells[0] = "Total"
		lines = append(lines, l.row(cells)+tail)
	}
	text := strings.Join(lines, l.eol) + l.eol
	if trait(15, "nofinaleol") {
		text = strings.TrimSuffix(text, l.eol)
	}

	encoding := pick(g, "utf8", "utf8", "utf8", "utf8bom", "utf8bom", "utf16le", "utf16le", "utf16be", "latin1", "latin1")
	f.Data, encoding = encode(text, encoding)
	sepName := map[string]string{",": "comma", ";": "semicolon", "|": "pipe", "\t": "tab"}[l.sep]
	header := map[bool]string{true: "header", false: "noheader"}[l.header]
	eol := map[string]string{"\n": "lf", "\r\n": "crlf", "\r": "cr"}[l.eol]
	column := ""
	if !e.refuse {
		column = fmt.Sprintf("col%d", col+1)
	}
	f.Name = joinName("table", e.name, sepName, l.quote, header, column, strings.Join(traits, "/"), eol, encoding)
	if len(traits) > 0 {
		f.Why += "; " + strings.Join(traits, ", ")
	}
	return f
}

// encode returns text in the encoding, or in UTF-8 if Latin-1 can't hold it or makes no difference, and the encoding's name.
func encode(text, encoding string) ([]byte, string) {
	var out []byte
	switch encoding {
	case "utf8bom":
		return []byte("\ufeff" + text), encoding
	case "utf16le", "utf16be":
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			if encoding == "utf16le" {
				out = append(out, byte(u), byte(u>>8))
			} else {
				out = append(out, byte(u>>8), byte(u))
			}
		}
		return out, encoding
	case "latin1":
		for _, r := range text {
			if r > 0xff {
				return []byte(text), "utf8"
			}
			out = append(out, byte(r))
		}
		if len(out) < len(text) {
			return out, encoding
		}
	}
	return []byte(text), "utf8"
}

// noTable returns text that holds no list of URLs in any form.
func (g *gen) noTable() File {
	kind := pick(g, "prose", "passwd", "ini", "source", "hosts", "diff")
	text := map[string]string{
		"prose":  "Dear all,\n\nplease find the minutes below; comments, as ever, are welcome.\nThe next meeting is on Monday, 30 November.\n\nRegards\nAda\n",
		"passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\nwww-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n",
		"ini":    "[server]\nport = 8080\nlog = /var/log/app.log\n\n[client]\nretries = 3\n",
		"source": "int main(void) {\n\tputs(\"hello, world\");\n\treturn 0;\n}\n",
		"hosts":  "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n192.0.2.7\tdb1 db1.internal.example\n",
		"diff":   "--- a/main.c\n+++ b/main.c\n@@ -1,3 +1,3 @@\n-\treturn 1;\n+\treturn 0;\n }\n",
	}[kind]
	encoding := pick(g, "utf8", "utf8bom", "utf16le")
	data, encoding := encode(text, encoding)
	return File{Name: joinName("notable", kind, encoding), Data: data, Why: "no URLs in any form"}
}
