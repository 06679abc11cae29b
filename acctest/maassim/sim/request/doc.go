// Package request is one call of MAAS's API as its handlers see it: who calls,
// with which fields, what he may do, and which route he took.
package request
