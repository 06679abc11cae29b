package catalog

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Routes are the operations on zones, resource pools, tags and images, and on MAAS's own
// servers.
func Routes() []request.Route {
	return slices.Concat(aboutRoutes, zoneRoutes, poolRoutes, tagRoutes, rackRoutes)
}

var aboutRoutes = []request.Route{
	{Method: http.MethodGet, Path: "version/", Anon: true, Handle: showVersion},
	{Method: http.MethodGet, Path: "boot-resources/", Handle: listImages},
	{Method: http.MethodGet, Path: "boot-resources/{id}/", Handle: readImage},
	{Method: http.MethodGet, Path: "boot-resources/", Op: "is_importing", Handle: func(*request.Call) rest.Reply { return rest.OKReply(false) }},
}

// capabilities are in the answer of version/. They are the same since MAAS 2.
var capabilities = []string{
	"networks-management", "static-ipaddresses", "ipv6-deployment-ubuntu", "devices-management",
	"storage-deployment-ubuntu", "network-deployment-ubuntu", "bridging-interface-ubuntu",
	"bridging-automatic-ubuntu", "authenticate-api",
}

func showVersion(c *request.Call) rest.Reply {
	rep := rest.OKReply(rest.Object{"version": versions.FullNumber(c.World.Version), "subversion": "", "capabilities": capabilities})
	rep.Header.Set("Vary", "Authorization")
	return rep
}

func listImages(c *request.Call) rest.Reply { return rest.OKReply(imageViews(c.World)) }

// readImage shows one boot resource. It has no sets, because the simulator has no image
// files.
func readImage(c *request.Call) rest.Reply {
	for _, v := range imageViews(c.World) {
		if fmt.Sprint(v["id"]) == c.Vars["id"] {
			v["sets"] = rest.Object{}
			return rest.OKReply(v)
		}
	}
	return rest.NoObjectReply("BootResource")
}

// imageViews shows two boot resources for each image and architecture: the kernel of the
// release, and the hardware enablement kernel. An uploaded image has neither a kernel of
// its own nor a prefix.
func imageViews(w *world.World) []rest.Object {
	views := []rest.Object{}
	add := func(image string, more rest.Object) {
		id := len(views) + 1
		v := rest.Object{
			"id": id, "resource_uri": rest.URI("boot-resources", id), "last_deployed": lastDeployed(w, image),
			"kflavor": "generic", "platform": "generic", "supported_platforms": "generic",
		}
		maps.Copy(v, more)
		views = append(views, v)
	}
	for _, image := range w.Images {
		system, series, _ := strings.Cut(image, "/")
		r, known := world.Releases[series]
		if !known {
			r = world.Release{Version: "1.0", Title: series}
		}
		for _, architecture := range world.ArchitecturesOf(w, image) {
			if system == "custom" {
				add(image, rest.Object{"type": "Uploaded", "name": series, "architecture": architecture + "/generic", "title": "", "subarches": "generic"})
				continue
			}
			for _, kernel := range []string{"ga-", "hwe-"} {
				add(image, rest.Object{
					"type": "Synced", "name": image, "architecture": architecture + "/" + kernel + r.Version, "title": r.Title,
					"subarches": subarches(r.Version),
				})
			}
		}
	}
	return views
}

// lastDeployed is when a machine last became Deployed with the image. It is null if none
// ever did (models/bootresource.py).
func lastDeployed(w *world.World, image string) any {
	when, ever := w.LastDeployed[image]
	if !ever {
		return nil
	}
	return when.UTC().Format("2006-01-02T15:04:05.000")
}

// subarches are the hardware classes that an image of a release serves. There is one with
// a letter for each release up to 16.04, and since then a kernel for each half year.
func subarches(version string) string {
	names := []string{"generic", "hwe-p", "hwe-q", "hwe-r", "hwe-s", "hwe-t", "hwe-u", "hwe-v", "hwe-w"}
	for year := 16; year < 30; year++ {
		for _, month := range []string{"04", "10"} {
			v := strconv.Itoa(year) + "." + month
			if v > version {
				return strings.Join(names, ",")
			}
			names = append(names, "ga-"+v)
		}
	}
	return strings.Join(names, ",")
}
