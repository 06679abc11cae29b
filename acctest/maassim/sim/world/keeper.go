package world

import (
	"log"
	"runtime/debug"
	"sync"
	"time"
)

// Keeper is what outlives the worlds of a simulator: the lock that guards them,
// and what the simulator was made with.
type Keeper struct {
	mu      sync.Mutex
	idle    *sync.Cond // a handler has ended
	running int        // handlers that are under way

	BuiltAt      time.Time
	Lender       Lender // nil: LXDs are simulated
	BeforeUnlock func() // runs before the world is unlocked; may be nil
	// OriginalAddress is the address whose LXD listens at a port of 127.0.0.1, empty for none.
	OriginalAddress func(address string) string
}

// NewKeeper makes the keeper of a simulator without a world.
func NewKeeper() *Keeper {
	k := &Keeper{BuiltAt: time.Now()}
	k.idle = sync.NewCond(k)
	return k
}

// Lock makes the world the caller's.
func (k *Keeper) Lock() { k.mu.Lock() }

// Unlock releases the world. Whoever leaves it has opened the endpoints of LXDs
// that came, and closed those of LXDs that went.
func (k *Keeper) Unlock() {
	if k.BeforeUnlock != nil {
		k.BeforeUnlock()
	}
	k.mu.Unlock()
}

// BeginHandler notes that a handler has begun. The world is locked.
func (k *Keeper) BeginHandler() { k.running++ }

// EndHandler notes that a handler has ended. The world is locked.
func (k *Keeper) EndHandler() {
	k.running--
	k.idle.Broadcast()
}

// AwaitIdle lets time pass until no handler is under way.
func (k *Keeper) AwaitIdle() {
	for k.running > 0 {
		k.idle.Wait()
	}
}

// BugText begins the body of a 500 that no MAAS would answer.
const BugText = "maassim: bug of the simulator: "

// LogBug writes a panic to stderr.
func LogBug(where string, bug any) {
	log.Printf("%s%v, at %s\n%s", BugText, bug, where, debug.Stack())
}
