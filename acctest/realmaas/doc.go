// Package realmaas is what the acceptance suite does to a MAAS that it did not
// make. It reads, waits, drives guests that do not boot, gives back lent
// machines, and removes what is left. It shares no code with the tested
// product.
//
// The names of its objects begin with the run's own prefix, and it deletes
// nothing else.
package realmaas
