package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firstseen/firstseen/cmd/internal/yield"
)

// trapModes are what --traps names.
type trapModes struct {
	links string // whose URLs the fixed limits refuse: "http", "all" or "off"
	yield string // "", "yield" or "yield-shadow"
}

func (m *trapModes) parse(flag string) error {
	*m = trapModes{}
	m.links, m.yield, _ = strings.Cut(flag, ",")
	if !slices.Contains([]string{"http", "all", "off"}, m.links) || !slices.Contains([]string{"", "yield", "yield-shadow"}, m.yield) {
		return fmt.Errorf("cannot serve; got --traps %q; want http, all or off, alone or with \",yield\" or \",yield-shadow\"", flag)
	}
	return nil
}

// table returns where fetches are counted, nil for nowhere.
func (m *trapModes) table() *yield.Table {
	if m.yield == "" {
		return nil
	}
	return yield.New(m.yield == "yield-shadow")
}
