package main

import (
	"context"
	"errors"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// clients are connections to the nodes of a service, one to each.
type clients []*remote.Client

// connect makes them, and asks nothing yet.
func (s *service) connect() (clients, error) {
	var all clients
	for _, n := range s.nodes {
		config := s.keys
		config.Address = "https://" + n.listen
		c, err := remote.New(config)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// tryFor is how long a node is waited for before the next one is asked.
const tryFor = time.Second

// place places a VM by the first node that answers, from one on.
func (c clients) place(ctx context.Context, from int, region string, r engine.Reservation) error {
	for try := from; ; try++ {
		node := c[try%len(c)]
		err := placeBy(ctx, node.Region(region), r)
		if err == nil || len(c) == 1 || ctx.Err() != nil || !isPassing(err) {
			return err
		}
	}
}

func placeBy(ctx context.Context, rows ledger.Rows, r engine.Reservation) error {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	_, _, err := rows.Place(ctx, r)
	return err
}

// isPassing tells whether another node may do what this one did not.
func isPassing(err error) bool {
	return errors.Is(err, engine.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}
