// Package machines has the operations on machines: listing, enlisting, changing,
// allocating, and those that start a transition to another status.
package machines
