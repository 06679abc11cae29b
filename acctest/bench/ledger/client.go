package main

import (
	"context"
	"errors"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// addresses lists the addresses of all nodes, beginning with one of them, as a
// client's configuration names them.
func (s *service) addresses(from int) string {
	var all []string
	for i := range s.nodes {
		all = append(all, "https://"+s.nodes[(from+i)%len(s.nodes)].listen)
	}
	return strings.Join(all, ",")
}

// newClients makes one client for each node. Each knows all nodes, and asks its
// own first. No call is made yet.
func (s *service) newClients() ([]*remote.Client, error) {
	var all []*remote.Client
	for i := range s.nodes {
		config := s.keys
		config.Address = s.addresses(i)
		c, err := remote.New(config)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// errKeyReservedBefore says that the key had a reservation already, so that
// nothing was measured.
var errKeyReservedBefore = errors.New("the key was reserved before")

// reserveFreshKey reserves room for a fresh key.
func reserveFreshKey(ctx context.Context, rows ledger.RegionLedger, r engine.Reservation) error {
	_, fresh, err := rows.Place(ctx, r)
	if err == nil && !fresh {
		return errKeyReservedBefore
	}
	return err
}
