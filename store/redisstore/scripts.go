package redisstore

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var lua embed.FS

// script is a server-side step, made of the files of lua/ that it is named by.
type script struct {
	*redis.Script
	name   string
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
	var source strings.Builder
	for _, name := range names {
		text, _ := lua.ReadFile("lua/" + name + ".lua") // with a misspelt name, no test passes
		source.Write(text)
		source.WriteByte('\n')
		if name == "head" { // closures over locals of an outer function cost less
			source.WriteString("return (function()\n")
		}
	}
	return &script{redis.NewScript(source.String() + "end)()\n"), names[len(names)-1], writes}
}
