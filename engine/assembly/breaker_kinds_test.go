package assembly_test

// survivable are the breakages after which the same run must get there.
var survivable = []breakage{
	{name: "503", breaks: unavailable},
	{name: "503 after the effect", after: true, breaks: unavailable},
	{name: "reset", breaks: reset},
	{name: "lost reply", after: true, breaks: reset},
}

// hanging calls end with the client's own deadline, for which only virtual
// time has the patience.
var hanging = []breakage{
	{name: "hang", breaks: hang},
	{name: "hang after the effect", after: true, breaks: hang},
}

// interrupting breakages end the run's ctx, and leave it the time that it takes
// for what it has begun.
var interrupting = []breakage{
	{name: "cancelled", cancels: true},
	{name: "cancelled after the effect", cancels: true, after: true},
}

var deadly = []breakage{
	{name: "death", deadly: true, breaks: death},
	{name: "death amid the call", deadly: true, amid: true, breaks: death},
	{name: "death after the effect", deadly: true, after: true, breaks: death},
}
