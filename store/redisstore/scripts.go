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
	// whenFull begins scripts that make room: a server whose memory is full also runs them.
	whenFull  = "full "
	partPlain = "head crawl "
	partSeen  = "head crawl seen steps "
	partQueue = "head crawl rows settings queue record file "
	partTake  = partQueue + "advance serve "
)

var (
	scriptOffer     = newScript(partSeen+"offer", true)
	scriptResolve   = newScript(partSeen+"resolve", false)
	scriptJudge     = newScript(partSeen+"resolve", true)
	scriptPlace     = newScript(partSeen+"place", true)
	scriptForget    = newScript(whenFull+partSeen+"place", true)
	scriptEnd       = newScript(whenFull+partSeen+"end", false)
	scriptPage      = newScript(partSeen+"page", false)
	scriptEnqueue   = newScript(partQueue+"receipts enqueue", true)
	scriptRelease   = newScript(whenFull+partQueue+"receipts release", true)
	scriptSettle    = newScript(partQueue+"settle", true)
	scriptDetach    = newScript(whenFull+partQueue+"detach", true)
	scriptDead      = newScript(whenFull+partQueue+"dead", false)
	scriptConfigure = newScript(partQueue+"configure", true)
	scriptInfo      = newScript(partQueue+"advance info", false)
	scriptTake      = newScript(partTake+"rotate take", true)
	scriptTakeFrom  = newScript(partTake+"takefrom take", true)
	scriptGiveBack  = newScript(whenFull+partQueue+"giveback", false)
	scriptLookup    = newScript(partQueue+"found lookup", false)
	scriptEntries   = newScript(partQueue+"found entries", false)
	scriptSweep     = newScript(whenFull+partQueue+"seen sweep", true)
	scriptReady     = newScript(partPlain+"settings ready", false)
	scriptStats     = newScript(partPlain+"stats", false)
	scriptWipe      = newScript(whenFull+partPlain+"wipe", true)
	scriptOverdue   = newScript(partPlain+"overdue", false)
	scriptLeftovers = newScript(whenFull+partPlain+"steps leftovers", false)
	scriptKeep      = newScript("head keep", false)
	scriptBeat      = newScript(partPlain+"beat", false)

	scriptBirth = newScript("head birth", true)
	scriptMeta  = newScript("head meta", true)
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
