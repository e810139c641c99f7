package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed lua/*.lua
var lua embed.FS

// script is a server-side step, made of the files of lua/ that it is named by.
type script struct {
	name   string
	source string
	sha    string
	writes bool // its answer is kept, and covered by WAIT
}

// Parts that scripts begin with.
const (
	partSeen = "head mark crawl seen "
	// whenFull begins scripts that make room: a server whose memory is full runs them, too.
	whenFull  = "full "
	partPlain = "head mark crawl "
	partQueue = "head mark crawl settings queue file record "
)

var (
	scriptOffer     = newScript(partSeen+"steps offer", true)
	scriptSee       = newScript(partSeen+"see", true)
	scriptResolve   = newScript(partSeen+"resolve", false)
	scriptJudge     = newScript(partSeen+"resolve", true)
	scriptPlace     = newScript(partSeen+"steps place", true)
	scriptForget    = newScript(whenFull+partSeen+"steps place", true)
	scriptEnd       = newScript(whenFull+partSeen+"steps end", false)
	scriptPage      = newScript(partSeen+"page", false)
	scriptEnqueue   = newScript(partQueue+"receipts enqueue", true)
	scriptRelease   = newScript(whenFull+partQueue+"receipts release", true)
	scriptSettle    = newScript(partQueue+"receipts judge settle", true)
	scriptDetach    = newScript(whenFull+partQueue+"detach", true)
	scriptDead      = newScript(partQueue+"dead", false)
	scriptConfigure = newScript(partQueue+"configure", true)
	scriptRefile    = newScript(partQueue+"refile", true)
	scriptInfo      = newScript(partQueue+"advance info", false)
	scriptTake      = newScript(partQueue+"advance serve rotate take", true)
	scriptTakeFrom  = newScript(partQueue+"advance serve takefrom", true)
	scriptGiveBack  = newScript(whenFull+partQueue+"giveback", false)
	scriptNext      = newScript(partQueue+"advance serve rotate next", false)
	scriptLookup    = newScript(partQueue+"lookup", false)
	scriptEntries   = newScript(partQueue+"entries", false)
	scriptSweep     = newScript(whenFull+partQueue+"sweep", true)
	scriptReady     = newScript(partPlain+"ready", false)
	scriptStats     = newScript(partPlain+"stats", false)
	scriptWipe      = newScript(whenFull+partPlain+"wipe", true)
	scriptBury      = newScript(whenFull+partPlain+"bury", true)
	scriptPending   = newScript(partPlain+"pending", false)
	scriptOverdue   = newScript(partPlain+"overdue", false)
	scriptLeftovers = newScript(partPlain+"leftovers", false)
	scriptTurn      = newScript("head turn", false)
	scriptBirth     = newScript("head birth", true)
	scriptMark      = newScript("head birth", false)
	scriptMeta      = newScript("head meta", true)
	scriptEpoch     = newScript(whenFull+partPlain+"epoch", true)
)

func newScript(parts string, writes bool) *script {
	names := strings.Fields(parts)
	var b strings.Builder
	for _, name := range names {
		text, err := lua.ReadFile("lua/" + name + ".lua")
		if err != nil {
			return &script{name: name} // the name is misspelt: no test passes
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	sum := sha1.Sum([]byte(b.String()))
	return &script{name: names[len(names)-1], source: b.String(), sha: hex.EncodeToString(sum[:]), writes: writes}
}
