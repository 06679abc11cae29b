package acctest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine/maas"
)

// checkAbsent asks a real MAAS whether a machine of this name is left.
func (x *target) checkAbsent(name string) error {
	client, err := maas.New(maas.Config{URL: x.url, APIKey: x.key})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	left, err := client.Machines.MachinesNamed(ctx, name)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("MAAS still has %s (%s)", name, left[0].SystemID)
	}
	return nil
}
