// Package rest is the outside of MAAS's API, whatever it is about: answers with
// their content types and headers, the sentences of its forms, and how bodies
// and paths are read.
package rest
