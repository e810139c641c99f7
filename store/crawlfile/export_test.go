package crawlfile

// The rows of a file are what a test compares, too.
type (
	URLRow   = urlRow
	QueueRow = queueRow
)

var (
	URLRowOf   = urlRowOf
	QueueRowOf = queueRowOf
)
