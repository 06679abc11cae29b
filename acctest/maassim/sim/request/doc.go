// Package request is one call of MAAS's API as handlers see it: the caller, the fields,
// the permissions and the route.
package request
