package canon

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// leftOut are the names of testdata/lists that are in no list of ours.
var leftOut = []entries{
	{"ref source origin r trk social sns email recipient newsletter context continue next redirect_to return_to pid otc si nd icid ftag janet oex afc gci picid taid ucid view_id link_source iesrc mailid oft_id campaign_id ad_group_id pin_id", "words and short names that select pages on other sites"},
	{"_ _t cache cb nocache rand random ts timestamp", "made to get past caches: a page can depend on them, and they have no vendor"},
	{"session_id visit_id visitor_id _io_session_id __io_lv", "no vendor documents them, and applications use them for records of their own"},
	{"int_campaign int_cmp_creative int_cmp_id int_cmp_name int_content int_medium int_source int_term itm_audience itm_campaign itm_campaign_s itm_channel itm_content itm_medium itm_medium_s itm_source itm_source_s itm_term ga_campaign ga_content ga_medium ga_place ga_source ga_term s_cid cmpid ncid mbid elq cm_cr cm_me cm_mmc", "names that sites choose for campaigns of their own, some of which select what the page shows"},
	{"fb_comment_id fb_ref fb_source action_object_map action_ref_map action_type_map", "Facebook's old social plug-ins: fb_comment_id selects a comment, the others are no longer set"},
	{"adj_campaign adj_creative adj_label adj_t af_ad af_adset af_click_lookback af_force_deeplink af_xp gps_adid is_retargeting unicorn_click_id external_click_id ir_adid ir_campaignid ir_partnerid dl_branch", "for links that open an app: they lead to the tracker's host, not to a page"},
	{"mt_adset mt_campaign mt_click_id mt_creative mt_medium mt_network mt_sub1 mt_sub2 mt_sub3 mt_sub4 mt_sub5 sms_click sms_source sms_uph nb_expid_meta nb_placement bta_c bta_tid vgo_ee ym_tracking_id clckid pi_opt_in at_custom", "of one product each, whose documentation could not be read"},
	{"usqp cvid oicd wprov x-source x-a-medium x-clickref sb_referer_host", "of one site each; a rule file can drop them there"},
	{"_bdadid _clde _ope _sgm_action _sgm_campaign _sgm_pinned _sgm_source _sgm_term _zucks_suid adsterra_clid adsterra_placement_id aiad_clid bance_xuid bemobdata beyond_uzcvid beyond_uzmcvid btag cstrackid emcs_t ems_dl fbadid jmtyclid ldtag_cl loclid lt_r mindbox-click-id mindbox-message-key oprtrack pin_promotion_id pk_vid srclt sscp ssp_iaba ssp_iabi tcsack uzcid vc_lpp", "in one list of the two, and no documentation of a vendor was found"},
}

// TestOthersLists wants each name that others collect in a list, or in leftOut, and not in both.
func TestOthersLists(t *testing.T) {
	l := versions[newestLists]
	left := map[string]bool{}
	for _, e := range leftOut {
		for _, name := range strings.Fields(e.names) {
			left[name] = true
			if l.tracking.matches([]byte(name), nil) {
				t.Errorf("%s is left out, and in the list", name)
			}
		}
	}
	collected := ""
	for _, file := range []string{"tidy-url", "detrack"} {
		text, err := os.ReadFile("testdata/lists/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		collected += string(text)
		for _, name := range strings.Fields(string(text)) {
			session := []byte("0123456789abcdef0123456789abcdef")
			if !l.tracking.matches([]byte(name), nil) && !l.sessions.matches([]byte(name), session) && !left[name] {
				t.Errorf("%s has %q; want it in a list, or left out with a reason", file, name)
			}
		}
	}
	for name := range left {
		if !slices.Contains(strings.Fields(collected), name) {
			t.Errorf("%q is left out, but nobody has it", name)
		}
	}
}
