package maas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
	"github.com/maaslxd/maaslxd/engine/maas/share"
)

// Catalog shows what this MAAS has and can do.
type Catalog struct {
	api   *api.Client
	hosts *Hosts

	images *share.Cached[[]engine.Image]
	series *share.Cached[string] // default_distro_series of MAAS, "noble"
	user   *share.Cached[wireUser]
	probe  *share.Cached[engine.Capabilities]
}

// wireUser is the user of the API key.
type wireUser struct {
	Username string `json:"username"`
	Admin    bool   `json:"is_superuser"`
}

func newCatalog(l listConfig) *Catalog {
	c := &Catalog{api: l.api}
	c.images = share.NewCached(namesTTL, l.limit(), l.now, c.fetchImages)
	c.series = share.NewCached(namesTTL, l.limit(), l.now, c.fetchSeries)
	c.user = share.NewCached(namesTTL, l.limit(), l.now, c.fetchUser)
	c.probe = share.NewCached(namesTTL, 3*l.limit(), l.now, c.fetchCapabilities)
	return c
}

// Capabilities implements engine.Catalog. It asks for three things in turn. The version
// needs no key, and shows whether there is a MAAS at all. The user shows whether the key is
// valid. The VM hosts show whether this MAAS has them.
func (c *Catalog) Capabilities(ctx context.Context) (engine.Capabilities, error) {
	return c.probe.Get(ctx)
}

func (c *Catalog) fetchCapabilities(ctx context.Context) (engine.Capabilities, error) {
	var version struct {
		Version string `json:"version"`
	}
	r := api.NewGet("version/")
	if err := c.api.List(ctx, r, &version); err != nil {
		return engine.Capabilities{}, err
	}
	if version.Version == "" {
		return engine.Capabilities{}, engine.MarkTerminal(api.ForeignAnswerError(r, http.StatusOK))
	}
	user, err := c.user.Get(ctx)
	if err != nil {
		return engine.Capabilities{}, err
	}
	_, err = c.hosts.Hosts(ctx)
	gone := errors.Is(err, engine.ErrGone)
	if err != nil && !gone {
		return engine.Capabilities{}, err
	}
	return engine.Capabilities{
		Version: version.Version, VMHosts: !gone, Username: user.Username, Admin: user.Admin,
	}, nil
}

func (c *Catalog) fetchUser(ctx context.Context) (user wireUser, err error) {
	err = c.api.List(ctx, api.NewGet("users/").Op("whoami"), &user)
	return user, err
}

// absentMachineError is the error of a machine that MAAS does not list. Only an administrator
// sees all machines, and knows that it is gone.
func (c *Catalog) absentMachineError(ctx context.Context, systemID string) error {
	user, err := c.user.Get(ctx)
	switch {
	case err != nil:
		return err
	case user.Admin:
		return fmt.Errorf("MAAS has no machine %s: %w", systemID, engine.ErrNotFound)
	default:
		return &engine.Refusal{
			Message: fmt.Sprintf("MAAS shows no machine %s to the user %q, who is no administrator: it is gone, or it belongs to another user", systemID, user.Username),
			Err:     engine.ErrHidden,
		}
	}
}

// Images implements engine.Catalog.
func (c *Catalog) Images(ctx context.Context) ([]engine.Image, error) {
	images, err := c.images.Get(ctx)
	return slices.Clone(images), err
}

func (c *Catalog) fetchSeries(ctx context.Context) (series string, err error) {
	r := api.NewGet("maas/").Op("get_config")
	r.Query.Set("name", "default_distro_series")
	err = c.api.Call(ctx, r, &series)
	return series, err
}

// DefaultImage implements engine.Catalog.
func (c *Catalog) DefaultImage(ctx context.Context) (string, error) { return c.series.Get(ctx) }

// fetchImages lists the boot resources. There is one for each architecture and kernel of an
// image.
func (c *Catalog) fetchImages(ctx context.Context) ([]engine.Image, error) {
	var list api.Elements[struct {
		Name         string `json:"name"`
		Type         string `json:"type"`
		Architecture string `json:"architecture"` // "amd64/ga-24.04"
	}]
	if err := c.api.List(ctx, api.NewGet("boot-resources/"), &list); err != nil {
		return nil, err
	}
	found := map[string]*engine.Image{}
	for _, resource := range list.Readable() {
		short, kernel, _ := strings.Cut(resource.Architecture, "/")
		name := resource.Name
		if resource.Type == "Uploaded" && !strings.Contains(name, "/") {
			// MAAS removes the prefix when an image is uploaded as custom/k8s
			// (forms/__init__.py, BootResourceForm.clean_name), and deploys it by either
			// name.
			name = "custom/" + name
		}
		image := found[name]
		if image == nil {
			image = &engine.Image{Name: name}
			found[name] = image
		}
		image.MoreArchitectures = image.MoreArchitectures || short == "" || len(list.Unreadable) > 0
		image.Architectures = append(image.Architectures, short)
		if kernel != "" && kernel != "generic" { // MAAS knows no kernel of an uploaded image
			image.Kernels = append(image.Kernels, kernel)
		}
	}
	images := make([]engine.Image, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		image := found[name]
		slices.Sort(image.Architectures)
		slices.Sort(image.Kernels)
		image.Architectures, image.Kernels = slices.Compact(image.Architectures), slices.Compact(image.Kernels)
		images = append(images, *image)
	}
	return images, nil
}
