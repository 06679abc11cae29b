// Package catalog has the operations on zones, resource pools and tags, and on what MAAS
// reports about itself.
package catalog
