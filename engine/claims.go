package engine

import (
	"fmt"
	"net/netip"
	"sync"
)

// claims are the fixed addresses of the VMs and machines that this process is
// making in one MAAS, by all its engines for it. MAAS shows an address as taken
// only once it is linked, minutes after it was checked; until then, a second one of
// the same apply would find it free. What other processes make is not in here: MAAS
// refuses the link then.
type claims struct {
	mu   sync.Mutex
	made map[place]claim
}

// place is an address of a subnet, by MAAS's number of it.
type place struct {
	subnet int
	ip     netip.Addr
}

// claim says for whom an address is meant.
type claim struct {
	key  Key
	name string
}

func newClaims() *claims { return &claims{made: map[place]claim{}} }

// take claims an address for a key, unless another key has. The error is a
// *SpecError of the field.
func (c *claims) take(field string, key Key, name string, at place) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.made[at]; ok && other.key != key {
		return &SpecError{
			Field: field, Message: fmt.Sprintf("%s is meant for %s, which is not made yet", at.ip, other.name),
			Hint: "Give each an address of its own.", Err: ErrConflict,
		}
	}
	c.made[at] = claim{key: key, name: name}
	return nil
}

// forget gives the claims of a key up: MAAS shows what it got, or it gets
// nothing.
func (c *claims) forget(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, made := range c.made {
		if made.key == key {
			delete(c.made, at)
		}
	}
}
