// Package lifecycle moves machines between statuses: commissioning, deployment with the
// first boot after it, release, and power.
package lifecycle
