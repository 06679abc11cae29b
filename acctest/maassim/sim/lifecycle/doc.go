// Package lifecycle moves machines from one status to the next: commissioning,
// deployment and the first boot after it, release, and power.
package lifecycle
