// Package rest has what all operations of MAAS's API share: answers with content types and
// headers, messages of forms, and the parsing of bodies and paths.
package rest
