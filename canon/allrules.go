package canon

// AllRules lists every rule there is for the qiita profile, in the order they run,
// switched on by default or not. The slice is the caller's.
func AllRules() []RuleInfo {
	infos := make([]RuleInfo, 0, len(rules))
	for id := range rules {
		infos = append(infos, rules[id].RuleInfo)
	}
	return infos
}
