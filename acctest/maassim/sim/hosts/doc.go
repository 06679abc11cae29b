// Package hosts has the operations on VM hosts: composes with all their failures, and
// refreshes, in which MAAS adopts and removes machines.
package hosts
