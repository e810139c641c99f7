package canon

// A Rule names one step of a profile: "collapse-slashes".
type Rule string

// RuleInfo describes a rule: what it does, where it comes from, what it can do wrong.
type RuleInfo struct {
	Rule     Rule   // the name, as typed
	Does     string // what it does, in a sentence
	Source   string // where it is specified
	Risk     string // which distinct pages it can merge; "" if none is known
	Optional bool   // whether it can be switched
	Default  bool   // whether the preset has it on
}
