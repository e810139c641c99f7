package canon

// None takes any bytes as they are: the key of a URL is then that of its exact bytes.
// It never fails, and it does not look whether its input is a URL.
//
// Laws: idempotence. No WHATWG fixpoint.
func None() *Profile {
	return fixed(RuleInfo{Rule: "none", Does: "nothing", Source: "the raw string"}, func(dst, raw []byte) ([]byte, error) {
		return append(dst, raw...), nil
	})
}
