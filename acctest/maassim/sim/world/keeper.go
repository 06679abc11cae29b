package world

import (
	"log"
	"runtime/debug"
	"sync"
	"time"
)

// Keeper is the part of a simulator that stays when its world is replaced: the lock, and
// the options of the simulator.
type Keeper struct {
	mu      sync.Mutex
	idle    *sync.Cond // signals the end of a handler
	running int        // number of running handlers

	BuiltAt      time.Time
	Lender       Lender // nil: all LXDs are simulated
	BeforeUnlock func() // runs before the world is unlocked; may be nil
	// OriginalAddress is the address of the LXD that listens on a port of 127.0.0.1, or
	// empty.
	OriginalAddress func(address string) string
}

// NewKeeper makes a keeper without a world.
func NewKeeper() *Keeper {
	k := &Keeper{BuiltAt: time.Now()}
	k.idle = sync.NewCond(k)
	return k
}

// Lock locks the world for the caller.
func (k *Keeper) Lock() { k.mu.Lock() }

// Unlock releases the world. Before that it opens the endpoints of new LXDs and closes
// those of removed ones.
func (k *Keeper) Unlock() {
	if k.BeforeUnlock != nil {
		k.BeforeUnlock()
	}
	k.mu.Unlock()
}

// BeginHandler counts a handler that begins. The caller holds the lock.
func (k *Keeper) BeginHandler() { k.running++ }

// EndHandler counts a handler that ends. The caller holds the lock.
func (k *Keeper) EndHandler() {
	k.running--
	k.idle.Broadcast()
}

// AwaitIdle waits until no handler runs. It releases the lock meanwhile.
func (k *Keeper) AwaitIdle() {
	for k.running > 0 {
		k.idle.Wait()
	}
}

// BugText is the start of a 500 that no real MAAS would answer.
const BugText = "maassim: bug of the simulator: "

// LogBug writes a panic to stderr.
func LogBug(where string, bug any) {
	log.Printf("%s%v, at %s\n%s", BugText, bug, where, debug.Stack())
}
