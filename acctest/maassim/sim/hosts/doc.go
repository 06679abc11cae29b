// Package hosts has the operations on VM hosts. It makes VMs, with all that can
// go wrong inside a compose, and syncs: what a listing of instances makes MAAS
// adopt and remove.
package hosts
