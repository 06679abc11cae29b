package assembly_test

// survivableBreakages are the breakages after which the same run must get there.
var survivableBreakages = []breakage{
	{name: "503", breaks: answer503},
	{name: "503 after the effect", after: true, breaks: answer503},
	{name: "reset", breaks: resetConnection},
	{name: "lost reply", after: true, breaks: resetConnection},
}

// hangBreakages calls end with the client's own deadline, for which only virtual
// time has the patience.
var hangBreakages = []breakage{
	{name: "hang", breaks: hangUntilCancelled},
	{name: "hang after the effect", after: true, breaks: hangUntilCancelled},
}

// cancelBreakages breakages end the run's ctx, and leave it the time that it takes
// for what it has begun.
var cancelBreakages = []breakage{
	{name: "cancelled", cancels: true},
	{name: "cancelled after the effect", cancels: true, after: true},
}

var deadlyBreakages = []breakage{
	{name: "death", deadly: true, breaks: killProcess},
	{name: "death amid the call", deadly: true, underWay: true, breaks: killProcess},
	{name: "death after the effect", deadly: true, after: true, breaks: killProcess},
}
