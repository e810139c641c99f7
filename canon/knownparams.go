package canon

import "strings"

// A Param is a query parameter that one of the lists below knows.
type Param struct {
	// Name is lower-case and compared without case; a final "*" stands for any ending.
	Name string
	// Value is the values that count: "" any, "digits" decimal digits only,
	// "id32" exactly 32 letters and digits.
	Value string
	// Source is who sets the parameter or documents it.
	Source string
}

// TrackingParams is the list of [StripTrackingParams]: parameters that record where a visitor
// came from, and that the page does not read. Names that mean something
// else on other sites (ref, source, cid) are left out; drop those by host, in a rule file.
func TrackingParams() []Param { return append([]Param(nil), trackingParams...) }

// SessionParams is the list of [StripSessionIDs] for the query.
func SessionParams() []Param { return append([]Param(nil), sessionParams...) }

var trackingParams = []Param{
	{"utm_*", "", "Google Analytics campaign parameters"},
	{"gclid", "", "Google Ads auto-tagging"},
	{"gclsrc", "", "Google Ads (Search Ads 360)"},
	{"gbraid", "", "Google Ads, clicks from iOS apps"},
	{"wbraid", "", "Google Ads, clicks from iOS web"},
	{"dclid", "", "Google Campaign Manager 360"},
	{"srsltid", "", "Google Merchant Center auto-tagging"},
	{"_ga", "", "Google Analytics cross-domain linker"},
	{"_gl", "", "Google tag cross-domain linker"},
	{"fbclid", "", "Meta click identifier"},
	{"fb_action_ids", "", "Facebook Open Graph actions"},
	{"fb_action_types", "", "Facebook Open Graph actions"},
	{"igshid", "", "Instagram share link"},
	{"igsh", "", "Instagram share link"},
	{"msclkid", "", "Microsoft Advertising auto-tagging"},
	{"yclid", "", "Yandex Direct"},
	{"ysclid", "", "Yandex search"},
	{"_openstat", "", "Openstat marks, set by Yandex"},
	{"twclid", "", "X (Twitter) Ads"},
	{"ttclid", "", "TikTok Ads"},
	{"li_fat_id", "", "LinkedIn Ads"},
	{"epik", "", "Pinterest Ads"},
	{"sccid", "", "Snapchat Ads"},
	{"rdt_cid", "", "Reddit Ads"},
	{"irclickid", "", "impact.com partner clicks"},
	{"mc_cid", "", "Mailchimp campaign"},
	{"mc_eid", "", "Mailchimp recipient"},
	{"mkt_tok", "", "Adobe Marketo e-mail links"},
	{"_hsenc", "", "HubSpot e-mail links"},
	{"_hsmi", "", "HubSpot e-mail links"},
	{"__hssc", "", "HubSpot cross-domain tracking"},
	{"__hstc", "", "HubSpot cross-domain tracking"},
	{"__hsfp", "", "HubSpot cross-domain tracking"},
	{"_kx", "", "Klaviyo e-mail links"},
	{"vero_id", "", "Vero e-mail links"},
	{"oly_anon_id", "", "Omeda (Olytics)"},
	{"oly_enc_id", "", "Omeda (Olytics)"},
	{"mtm_campaign", "", "Matomo campaign parameters"},
	{"mtm_keyword", "", "Matomo campaign parameters"},
	{"mtm_source", "", "Matomo campaign parameters"},
	{"mtm_medium", "", "Matomo campaign parameters"},
	{"mtm_content", "", "Matomo campaign parameters"},
	{"mtm_cid", "", "Matomo campaign parameters"},
	{"pk_campaign", "", "Piwik, now Matomo"},
	{"pk_kwd", "", "Piwik, now Matomo"},
	{"pk_source", "", "Piwik, now Matomo"},
	{"pk_medium", "", "Piwik, now Matomo"},
	{"pk_content", "", "Piwik, now Matomo"},
}

var sessionParams = []Param{
	{"jsessionid", "", "Java servlet containers"},
	{"phpsessid", "", "PHP session.name default"},
	{"aspsessionid*", "", "classic ASP"},
	{"sid", "id32", "phpBB and others; Heritrix StripSessionIDs"},
	{"cfid", "digits", "ColdFusion"},
	{"cftoken", "", "ColdFusion"},
}

var (
	tracking = indexParams(trackingParams)
	sessions = indexParams(sessionParams)
)

// longestKnown bounds the names that are looked up; longer ones match by prefix only.
const longestKnown = 24

// paramIndex finds a parameter by name without allocating. first spares the look-up
// for names that begin with no listed letter, which most do.
type paramIndex struct {
	exact    map[string]string // name -> kind of value
	prefixes []string
	first    byteSet
}

func indexParams(list []Param) *paramIndex {
	x := &paramIndex{exact: map[string]string{}}
	for _, p := range list {
		x.first[p.Name[0]] = true
		if prefix, ok := strings.CutSuffix(p.Name, "*"); ok {
			x.prefixes = append(x.prefixes, prefix)
		} else {
			x.exact[p.Name] = p.Value
		}
	}
	return x
}

// matches takes name and value with their escapes normalised.
func (x *paramIndex) matches(name, value []byte) bool {
	if len(name) == 0 || !x.first[lower(name[0])] {
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
		low[i] = lower(c)
	}
	kind, ok := x.exact[string(low[:len(name)])]
	return ok && fits(value, kind)
}

func fits(value []byte, kind string) bool {
	switch kind {
	case "digits":
		for _, c := range value {
			if c < '0' || c > '9' {
				return false
			}
		}
		return len(value) > 0
	case "id32":
		return len(value) == 32 && isAlnum(value)
	}
	return true
}
