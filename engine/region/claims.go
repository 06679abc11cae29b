package region

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// Claims are the fixed addresses of the VMs and machines that this process is making in one
// MAAS, with all its engines for it. MAAS shows an address as taken only once it is linked,
// minutes after the check. Until then, a second VM of the same apply would find it free. Claims
// do not know other processes: there MAAS refuses the link.
type Claims struct {
	mu        sync.Mutex
	byAddress map[subnetAddress]claim
}

// subnetAddress is an address in a subnet, which is named by MAAS's number.
type subnetAddress struct {
	subnet int
	ip     netip.Addr
}

// claim says for whom an address is reserved.
type claim struct {
	key  engine.Key
	name string
}

func newClaims() *Claims { return &Claims{byAddress: map[subnetAddress]claim{}} }

// ClaimAddress claims an address for a key, unless another key has claimed it. The error is a
// *SpecError of the field.
func (c *Claims) ClaimAddress(field fieldpath.Path, key engine.Key, name string, subnetID int, ip netip.Addr) error {
	at := subnetAddress{subnetID, ip}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.byAddress[at]; ok && other.key != key {
		return &engine.SpecError{
			Field: field, Message: fmt.Sprintf("%s is the address of %s, which this run is still making", at.ip, other.name),
			Hint: "Give each of them an address of its own.", Err: engine.ErrConflict,
		}
	}
	c.byAddress[at] = claim{key: key, name: name}
	return nil
}

// Forget gives the claims of a key up: either MAAS shows its addresses, or it gets none.
func (c *Claims) Forget(key engine.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, made := range c.byAddress {
		if made.key == key {
			delete(c.byAddress, at)
		}
	}
}
