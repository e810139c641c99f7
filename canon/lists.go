package canon

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/internal/whatwg"
)

// The lists of strip-tracking-params, strip-session-ids and strip-index.
//
// They grow, because vendors add names, and a list that grows makes other canonical forms. So
// each list has versions, numbered from 1, and a version never changes: what is new is a
// section of its own, and a profile applies the sections up to its version. A new profile has
// the newest version. A profile with one of the three rules names it in [Profile.String]
// ("lists=2"), which a store records; so a store keeps the lists that it was created with, and
// each version can be chosen by that name. One number counts for all lists: a number for each
// would have to be understood three times to say the same.
//
// String does not name version 1. Lists had no version when it was the only one, and the
// stores of that time record no other text.
//
// To add names, add a section with the date on which the sources were read, here and nowhere
// else. testdata/lists has names that others collect: a test holds that each is in a section, or
// in a table of names that are left out, with the reason.

// A Param is an entry of a list: a query parameter, or a text in a path.
type Param struct {
	// Name of a parameter is lower-case and compared without case; a final "*" stands for any ending. Of
	// an entry for a path it is a description: ";jsessionid=…".
	Name string
	// Value is the values that count: "" any, "digits" decimal digits only,
	// "id32" exactly 32 letters and digits, "id16" 16 of them or more.
	Value string
	// Path reports that the entry is for paths.
	Path bool
	// Source is who sets the parameter or documents it.
	Source string
	// Since is the first version of the lists that has the entry, and Date the day on which its source
	// was read, or the list was first published.
	Since int
	Date  string
}

// section is what a version adds. Entries of one source stand together: names between blanks, each
// with its kind of value after a colon if not all count.
type section struct {
	date                     string
	tracking, session, index []entries
}

type entries struct{ names, source string }

var sections = [...]section{
	{ // version 1
		date: "2026-11-21",
		tracking: []entries{
			{"utm_*", "Google Analytics campaign parameters"},
			{"gclid", "Google Ads auto-tagging"},
			{"gclsrc", "Google Ads (Search Ads 360)"},
			{"gbraid", "Google Ads, clicks from iOS apps"},
			{"wbraid", "Google Ads, clicks from iOS web"},
			{"dclid", "Google Campaign Manager 360"},
			{"srsltid", "Google Merchant Center auto-tagging"},
			{"_ga", "Google Analytics cross-domain linker"},
			{"_gl", "Google tag cross-domain linker"},
			{"fbclid", "Meta click identifier"},
			{"fb_action_ids fb_action_types", "Facebook Open Graph actions"},
			{"igshid igsh", "Instagram share link"},
			{"msclkid", "Microsoft Advertising auto-tagging"},
			{"yclid", "Yandex Direct"},
			{"ysclid", "Yandex search"},
			{"_openstat", "Openstat marks, set by Yandex"},
			{"twclid", "X (Twitter) Ads"},
			{"ttclid", "TikTok Ads"},
			{"li_fat_id", "LinkedIn Ads"},
			{"epik", "Pinterest Ads"},
			{"sccid", "Snapchat Ads"},
			{"rdt_cid", "Reddit Ads"},
			{"irclickid", "impact.com partner clicks"},
			{"mc_cid", "Mailchimp campaign"},
			{"mc_eid", "Mailchimp recipient"},
			{"mkt_tok", "Adobe Marketo e-mail links"},
			{"_hsenc _hsmi", "HubSpot e-mail links"},
			{"__hssc __hstc __hsfp", "HubSpot cross-domain tracking"},
			{"_kx", "Klaviyo e-mail links"},
			{"vero_id", "Vero e-mail links"},
			{"oly_anon_id oly_enc_id", "Omeda (Olytics)"},
			{"mtm_campaign mtm_keyword mtm_source mtm_medium mtm_content mtm_cid", "Matomo campaign parameters"},
			{"pk_campaign pk_kwd pk_source pk_medium pk_content", "Piwik, now Matomo"},
		},
		session: []entries{
			{"jsessionid", "Java servlet containers"},
			{"phpsessid", "PHP session.name default"},
			{"aspsessionid*", "classic ASP"},
			{"sid:id32", "phpBB and others; Heritrix StripSessionIDs"},
			{"cfid:digits cftoken", "ColdFusion"},
			{"/;jsessionid=…", "Java servlet containers: up to the next \";\" or \"/\""},
			{"/(S(…24…))", "ASP.NET: a segment of one or more of a letter and 24 letters or digits in brackets"},
		},
		index: []entries{
			{"index.html index.htm index.shtml index.xhtml index.php index.jsp index.asp index.aspx index.cgi index.pl", "servers of the common kinds"},
			{"default.html default.htm default.asp default.aspx", "Microsoft IIS"},
		},
	},
	{ // version 2
		date: "2026-11-26",
		tracking: []entries{
			{"gad_* gad:digits", "Google Ads, the source and the campaign of a click (support.google.com/google-ads/answer/16193746); gad is the former name of gad_source"},
			{"hsa_*", "HubSpot Ads"},
			{"hsctatracking", "HubSpot calls to action"},
			{"mtm_cpn mtm_kwd mtm_group mtm_placement", "Matomo campaign parameters (matomo.org/faq/reports/advanced-how-to-manually-build-campaign-tracking-urls)"},
			{"matomo_campaign matomo_cpn matomo_keyword matomo_kwd matomo_source matomo_medium matomo_content matomo_cid matomo_group matomo_placement", "Matomo, other names of the same"},
			{"pk_cpn pk_keyword pk_cid pk_group pk_placement", "Piwik, now Matomo"},
			{"piwik_campaign piwik_cpn piwik_keyword piwik_kwd piwik_source piwik_medium piwik_content piwik_cid piwik_group piwik_placement", "Piwik, now Matomo"},
			{"elqtrackid elqtrack elqaid elqat elqak elqcampaignid", "Oracle Eloqua e-mail links"},
			{"vero_conv", "Vero e-mail links"},
			{"__s", "Drip e-mail links"},
			{"_ke", "Klaviyo e-mail links, before _kx"},
			{"_bhlid", "beehiiv e-mail links"},
			{"bsft_*", "Blueshift e-mail links"},
			{"dm_i", "Dotdigital e-mail links"},
			{"ml_subscriber ml_subscriber_hash", "MailerLite e-mail links"},
			{"_cldee", "ClickDimensions e-mail links"},
			{"trk_contact trk_msg trk_module trk_sid", "Listrak e-mail links"},
			{"hootpostid", "Hootsuite posts"},
			{"cjevent cjdata", "CJ affiliate clicks"},
			{"ranmid raneaid ransiteid", "Rakuten affiliate clicks"},
			{"irgwc", "impact.com partner clicks"},
			{"awc", "Awin affiliate clicks"},
			{"sscid", "ShareASale affiliate clicks"},
			{"tduid", "Tradedoubler affiliate clicks"},
			{"admitad_uid", "Admitad affiliate clicks"},
			{"s_kwcid ef_id", "Adobe Advertising"},
			{"adobe_mc_ref adobe_mc_sdid", "Adobe Experience Cloud, cross-domain"},
			{"mkwid pcrid", "Marin Software"},
			{"wickedid", "Wicked Reports"},
			{"qclid", "Quora Ads"},
			{"tgclid", "Telegram Ads"},
			{"rb_clickid", "VK Ads"},
			{"erid", "marks of Russian advertising law"},
			{"wt_mc", "Webtrekk, now Mapp"},
			{"xtor at_medium at_campaign at_campaign_type at_creation at_emailtype at_link at_link_id at_link_origin at_link_type at_ptr_name at_recipient_id at_recipient_list at_send_date", "AT Internet, now Piano Analytics"},
			{"guccounter guce_referrer guce_referrer_sig", "Yahoo consent pages"},
			{"_branch_match_id _branch_referrer", "Branch links"},
			{"adjust_tracker adjust_campaign adjust_adgroup adjust_creative adjust_referrer adjust_tracker_limit", "Adjust links"},
		},
		session: []entries{
			{"sessionid:id16", "urlcanon"},
			{"oscsid:id32", "osCommerce; Heritrix StripSessionIDs takes it for the end of a name"},
			{"aspxautodetectcookiesupport", "ASP.NET, the probe for cookies"},
			{"/(…24…)", "ASP.NET 1: a segment of 24 letters and digits in brackets, before a name with .aspx; webarchive-commons"},
			{"/(X(1)) /(A(…)F(…)S(…))", "ASP.NET, the probe for cookies and other marks: segments of A, F, S or X with a mark in brackets"},
		},
		index: []entries{
			{"index.phtml default.phtml default.shtml default.xhtml", "Apache Nutch, regex-normalize"},
			{"index.* default.*", "purell RemoveDirectoryIndex: with an extension of one to four letters, digits and \"_\""},
		},
	},
}

// newestLists is the version of the lists that new profiles have.
const newestLists = len(sections)

// lists is a version of the lists, ready for look-ups.
type lists struct {
	version            int
	tracking, sessions *paramIndex
	index              map[string]bool
	aspMark            *regexp.Regexp
	wide               bool // has the patterns that are new in version 2
}

var versions = func() (v [newestLists + 1]*lists) {
	for n := 1; n <= newestLists; n++ {
		v[n] = &lists{version: n, wide: n >= 2, aspMark: aspMarks[min(n-1, 1)], index: map[string]bool{}, tracking: indexParams(listUpTo(n, StripTrackingParams)), sessions: indexParams(listUpTo(n, StripSessionIDs))}
		for _, p := range listUpTo(n, StripIndex) {
			v[n].index[p.Name] = true
		}
	}
	return v
}()

func (s *section) of(r Rule) []entries {
	switch r {
	case StripTrackingParams:
		return s.tracking
	case StripSessionIDs:
		return s.session
	case StripIndex:
		return s.index
	}
	return nil
}

// listUpTo returns the list of a rule in a version.
func listUpTo(version int, r Rule) (list []Param) {
	for i := range sections[:version] {
		for _, e := range sections[i].of(r) {
			for _, name := range strings.Fields(e.names) {
				p := Param{Source: e.source, Since: i + 1, Date: sections[i].date}
				if p.Name, p.Path = strings.CutPrefix(name, "/"); !p.Path {
					p.Name, p.Value, _ = strings.Cut(name, ":")
				}
				list = append(list, p)
			}
		}
	}
	return list
}

// List returns what the profile looks for by a rule that has a list: [StripTrackingParams],
// [StripSessionIDs] or [StripIndex]. It is nil for other rules, and for other profiles than qiita.
func (p *Profile) List(r Rule) []Param {
	if p.qiita == nil {
		return nil
	}
	return listUpTo(p.qiita.lists.version, r)
}

// isIndex reports whether a segment is a default document; without regard to case, since the
// servers that have the capitalised ones ignore it.
func (l *lists) isIndex(segment string) bool {
	if len(segment) > longestIndex {
		return false
	}
	low := whatwg.LowerText(segment)
	stem, extension, _ := strings.Cut(low, ".")
	return l.index[low] || l.index[stem+".*"] && 1 <= len(extension) && len(extension) <= 4 && strings.Trim(extension, whatwg.Digits+whatwg.Letters+"_") == ""
}

const longestIndex = len("default.aspx")

// longestKnown bounds the names that are looked up; longer ones match by prefix only.
const longestKnown = 32

// paramIndex finds a parameter by name without allocating. first spares the look-up
// for names that begin with no listed letter, which most do.
type paramIndex struct {
	exact    map[string]*regexp.Regexp // by name: what the value must be; nil for any
	prefixes []string
	first    whatwg.Set
}

func indexParams(list []Param) *paramIndex {
	x := &paramIndex{exact: map[string]*regexp.Regexp{}}
	for _, p := range list {
		if p.Path {
			continue
		}
		x.first[p.Name[0]] = true
		if prefix, ok := strings.CutSuffix(p.Name, "*"); ok {
			x.prefixes = append(x.prefixes, prefix)
		} else {
			x.exact[p.Name] = kinds[p.Value]
		}
	}
	return x
}

// matches takes name and value with their escapes normalised.
func (x *paramIndex) matches(name, value []byte) bool {
	if len(name) == 0 || !x.first[whatwg.Lower(name[0])] {
		return false
	}
	for _, prefix := range x.prefixes {
		if hasPrefixFold(name, prefix) {
			return true
		}
	}
	if len(name) > longestKnown {
		return false
	}
	var low [longestKnown]byte
	for i, c := range name {
		low[i] = whatwg.Lower(c)
	}
	kind, ok := x.exact[string(low[:len(name)])]
	return ok && (kind == nil || kind.Match(value))
}

// kinds are the kinds of values that a [Param] names.
var kinds = map[string]*regexp.Regexp{
	"digits": regexp.MustCompile(`^[0-9]+$`),
	"id32":   regexp.MustCompile(`^[0-9A-Za-z]{32}$`),
	"id16":   regexp.MustCompile(`^[0-9A-Za-z]{16,}$`),
}

// stripSessions drops the parameters of sessions from a pair of a query, and reports whether
// something is left. Since version 2, parameters may also be separated by ";".
func (l *lists) stripSessions(pair string) (left string, some bool) {
	params := []string{pair}
	if l.wide {
		params = strings.Split(pair, ";")
	}
	kept := slices.DeleteFunc(params, func(p string) bool {
		name, value, _ := strings.Cut(p, "=")
		return l.sessions.matches([]byte(name), []byte(value))
	})
	return strings.Join(kept, ";"), len(kept) > 0
}

// stripPathSessions drops ";jsessionid=…" up to the next ";" or "/", and whole segments with
// marks of ASP.NET.
func (l *lists) stripPathSessions(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = stripJSession(s)
	}
	kept := segments[:0]
	for i, s := range segments { // what stripJSession leaves may be a mark
		if !l.aspMark.MatchString(s) && !(l.wide && asp1Session.MatchString(s) && namesASPX(segments[i+1:])) {
			kept = append(kept, s)
		}
	}
	if path = strings.Join(kept, "/"); !strings.HasPrefix(path, "/") {
		return "/" + path
	}
	return path
}

func stripJSession(segment string) string {
	params := strings.Split(segment, ";")
	kept := params[:1]
	for _, p := range params[1:] {
		if !hasPrefixFold(p, "jsessionid=") {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ";")
}

// The segments with marks of ASP.NET. Those of version 1 and of .NET 2, whose name is of one letter, have 24 letters or
// digits. Since version 2 of the lists, X may have a number, and A, F, S and X 16 or more letters, digits, "-", ".", "_" and "~".
var (
	asp1Session = regexp.MustCompile(`^\([0-9A-Za-z]{24}\)$`)
	aspMarks    = [...]*regexp.Regexp{
		regexp.MustCompile(`^\(([0-9A-Za-z]\([0-9A-Za-z]{24}\))+\)$`),
		regexp.MustCompile(`^\(([0-9A-Za-z]\([0-9A-Za-z]{24}\)|[Xx]\([0-9]+\)|[AFSXafsx]\([-.~\w]{16,}\))+\)$`),
	}
)

func namesASPX(segments []string) bool {
	return slices.ContainsFunc(segments, func(s string) bool { return strings.Contains(whatwg.LowerText(s), ".aspx") })
}

// hasPrefixFold reports whether s begins with prefix, which is lower-case, in any case.
func hasPrefixFold[T string | []byte](s T, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if whatwg.Lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}
