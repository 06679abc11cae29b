package diagnostics

// The tests compare these with the schemas of the resources.
var (
	AttributePath = attributePath
	Attributes    = resourceAttributes
)
