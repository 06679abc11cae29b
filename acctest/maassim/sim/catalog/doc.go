// Package catalog has the operations on what machines and VM hosts are sorted
// into, zones, resource pools and tags, and on what MAAS says about itself.
package catalog
