package canon

import "github.com/PuerkitoBio/purell"

// Purell is being written.
func Purell(flags purell.NormalizationFlags) *Profile { return Qiita() }

func parsePurell(spec string) (*Profile, error) { return Qiita(), nil }
