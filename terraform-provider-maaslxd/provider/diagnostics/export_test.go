package diagnostics

// What tests hold against the schemas of the resources.
var (
	AttributePath = attributePath
	Attributes    = resourceAttributes
)
