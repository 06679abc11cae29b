package accounts

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

var sslKeyRoutes = []request.Route{
	{Method: http.MethodGet, Path: "account/prefs/sslkeys/", Handle: listSSLKeys},
	{Method: http.MethodPost, Path: "account/prefs/sslkeys/", Handle: createSSLKey},
	{Method: http.MethodGet, Path: "account/prefs/sslkeys/{id}/", Handle: readSSLKey},
	{Method: http.MethodDelete, Path: "account/prefs/sslkeys/{id}/", Handle: deleteSSLKey},
}

func viewSSLKey(k *site.Key) rest.Object {
	return rest.Object{"id": k.ID, "key": k.Text, "resource_uri": rest.URI("account/prefs/sslkeys", k.ID)}
}

func listSSLKeys(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, k := range rest.SortedValues(c.World.Site.SSLKeys) {
		if k.User == c.User.Name {
			views = append(views, viewSSLKey(k))
		}
	}
	return rest.OKReply(views)
}

func createSSLKey(c *request.Call) rest.Reply {
	text := c.Field("key")
	switch {
	case text == "":
		return rest.BadFieldReply("key", rest.MsgRequired)
	case !isCertificate(text):
		return rest.BadFieldReply("key", "Invalid SSL key.")
	case hasKey(c.World.Site.SSLKeys, c.User.Name, text):
		return rest.BadFieldReply("key", keyTwiceText)
	}
	k := &site.Key{ID: c.World.NextID("sslkey"), User: c.User.Name, Text: text}
	c.World.Site.SSLKeys[k.ID] = k
	return rest.CreatedReply(viewSSLKey(k))
}

func isCertificate(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	_, err := x509.ParseCertificate(block.Bytes)
	return err == nil
}

func readSSLKey(c *request.Call) rest.Reply {
	k, wrong := request.FindByID(c, c.World.Site.SSLKeys, "SSLKey")
	if wrong != nil {
		return *wrong
	}
	if k.User != c.User.Name {
		rep := notYourKeyReply("get")
		rep.Kind = rest.TypeHTML
		return rep
	}
	return rest.OKReply(viewSSLKey(k))
}

func deleteSSLKey(c *request.Call) rest.Reply {
	k, wrong := request.FindByID(c, c.World.Site.SSLKeys, "SSLKey")
	if wrong != nil {
		return *wrong
	}
	if k.User != c.User.Name {
		return notYourKeyReply("delete")
	}
	delete(c.World.Site.SSLKeys, k.ID)
	return rest.DeletedReply()
}
