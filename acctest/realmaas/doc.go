// Package realmaas is what the acceptance suite does to a MAAS that it did not make
// itself: it looks, waits, drives guests that do not boot, gives back machines that
// were lent, and removes what is left. It shares no code with what is tested.
//
// Its objects have names that begin with the run's own prefix, and it deletes nothing
// else.
package realmaas
