package controller

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// publishedFor is how long nobody is asked what a name points to: until then, who
// changes it by hand in MAAS is not corrected.
const publishedFor = 5 * time.Minute

// Publications remember to what the names of clusters point, so that not each
// machine of a control plane must ask MAAS. Only who publishes a name fills them:
// a read may be older than what is published meanwhile.
//
// The zero value remembers nothing yet; nil never does.
type Publications struct {
	mu   sync.Mutex
	seen map[client.ObjectKey]publication // by the name of a MaasCluster
}

// publication is what a name was seen to point to.
type publication struct {
	cluster   types.UID // of the MaasCluster that had the name then
	site      *Site
	name      engine.DNSName
	addresses []netip.Addr // sorted
	at        time.Time
}

// known are the addresses of a cluster's name in a MAAS, unless that is not known
// or not any more.
func (p *Publications) known(cluster *infrav1.MaasCluster, site *Site, name engine.DNSName, now time.Time) ([]netip.Addr, bool) {
	if p == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	is, ok := p.seen[client.ObjectKeyFromObject(cluster)]
	if !ok || is.cluster != cluster.UID || is.site != site || is.name != name || now.Sub(is.at) >= publishedFor {
		return nil, false
	}
	return slices.Clone(is.addresses), true
}

func (p *Publications) remember(cluster *infrav1.MaasCluster, is publication) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[client.ObjectKey]publication{}
	}
	is.cluster = cluster.UID
	p.seen[client.ObjectKeyFromObject(cluster)] = is
}

// forget drops what is known of a cluster, as when it was deleted or has moved away.
func (p *Publications) forget(cluster client.ObjectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, cluster)
}
