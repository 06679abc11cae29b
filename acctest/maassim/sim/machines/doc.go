// Package machines has the operations on machines: listing, enlisting, changing,
// allocating, and those that start to move them through their life.
package machines
