package accounts

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/versions"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world/site"
)

var sshKeyRoutes = []request.Route{
	{Method: http.MethodGet, Path: "account/prefs/sshkeys/", Handle: listSSHKeys},
	{Method: http.MethodPost, Path: "account/prefs/sshkeys/", Handle: createSSHKey},
	{Method: http.MethodPost, Path: "account/prefs/sshkeys/", Op: "import", Handle: importSSHKeys},
	{Method: http.MethodGet, Path: "account/prefs/sshkeys/{id}/", Handle: readSSHKey},
	{Method: http.MethodDelete, Path: "account/prefs/sshkeys/{id}/", Handle: deleteSSHKey},
}

func viewSSHKey(k *site.Key) rest.Object {
	return rest.Object{"id": k.ID, "key": k.Text, "keysource": "", "resource_uri": rest.URI("account/prefs/sshkeys", k.ID)}
}

func listSSHKeys(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, k := range rest.SortedValues(c.World.Site.SSHKeys) {
		if k.User == c.User.Name {
			views = append(views, viewSSHKey(k))
		}
	}
	return rest.OKReply(views)
}

func createSSHKey(c *request.Call) rest.Reply {
	owner := c.User.Name
	if c.HasField("user") {
		owner = c.Field("user")
		if !c.User.Admin {
			return rest.BadTextReply("Only administrators can specify a user when creating an SSH key.")
		}
		if world.UserNamed(c.World, owner) == nil {
			return rest.BadTextReply("Supplied username does not match any current users.")
		}
	}
	text := c.Field("key")
	if text == "" {
		return rest.BadFieldReply("key", rest.MsgRequired)
	}
	if problem := sshKeyProblem(text, c.World.Version); problem != "" {
		return rest.BadFieldReply("key", "Invalid SSH public key: "+problem)
	}
	if hasKey(c.World.Site.SSHKeys, owner, text) {
		return rest.BadFieldReply("__all__", keyTwiceText)
	}
	k := &site.Key{ID: c.World.NextID("sshkey"), User: owner, Text: text}
	c.World.Site.SSHKeys[k.ID] = k
	return rest.CreatedReply(viewSSHKey(k))
}

const keyTwiceText = "This key has already been added for this user."

func hasKey(keys map[int]*site.Key, user, text string) bool {
	for _, k := range keys {
		if k.User == user && k.Text == text {
			return true
		}
	}
	return false
}

// sshKeyTypes are the key types that a version accepts, in the order of its message
// (OPENSSH_PROTOCOL2_KEY_TYPES). 3.8 removed DSA and added security keys.
func sshKeyTypes(version string) []string {
	ecdsa := []string{"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}
	if versions.IsAtLeast(version, versions.V38) {
		return append(ecdsa, "sk-ecdsa-sha2-nistp256@openssh.com", "sk-ssh-ed25519@openssh.com", "ssh-ed25519", "ssh-rsa")
	}
	return append(ecdsa, "ssh-dss", "ssh-ed25519", "ssh-rsa")
}

// sshKeyProblem is MAAS's message about an invalid key
// (provisioningserver/utils/sshkey.py). MAAS runs ssh-keygen; the simulator compares the
// type with the one inside the key.
func sshKeyProblem(text, version string) string {
	parts := strings.Fields(text)
	if len(parts) < 2 {
		return fmt.Sprintf("Key should contain 2 or more space separated parts (key type, base64-encoded key, optional comments), not %d: %s",
			len(parts), strings.Join(quoteAll(parts), " "))
	}
	if types := sshKeyTypes(version); !slices.Contains(types, parts[0]) {
		return fmt.Sprintf("Key type %s not recognised; it should be one of: %s", shellQuote(parts[0]), strings.Join(types, " "))
	}
	blob, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil || len(blob) < 4 {
		return unreadableKeyText
	}
	length := binary.BigEndian.Uint32(blob)
	if uint64(length) > uint64(len(blob)-4) || string(blob[4:4+length]) != parts[0] {
		return unreadableKeyText
	}
	return ""
}

const unreadableKeyText = "Key could not be converted to RFC4716 form."

func quoteAll(words []string) (quoted []string) {
	for _, word := range words {
		quoted = append(quoted, shellQuote(word))
	}
	return quoted
}

var shellSafe = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellQuote quotes a word as Python's shlex does.
func shellQuote(word string) string {
	if shellSafe.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// importSSHKeys knows MAAS's protocols but finds no user there, because the simulator
// calls no other server.
func importSSHKeys(c *request.Call) rest.Reply {
	if !c.HasField("keysource") {
		return rest.BadTextReply("Importing SSH keys failed. Input needs to be in protocol:auth_id or auth_id format.")
	}
	protocol, user, named := strings.Cut(c.Field("keysource"), ":")
	if !named {
		protocol, user = "lp", protocol
	}
	server := map[string]string{"lp": "launchpad", "gh": "github"}[protocol]
	if server == "" {
		rep := rest.BadFieldReply("protocol", fmt.Sprintf("Value '%s' is not a valid choice.", protocol))
		rep.Kind = "application/json"
		return rep
	}
	return rest.BadTextReply(fmt.Sprintf("Unable to import SSH keys. %s user %s doesn't exist.", server, user))
}

// readSSHKey shows the key to any user.
func readSSHKey(c *request.Call) rest.Reply {
	k, wrong := request.FindByID(c, c.World.Site.SSHKeys, "SSHKey")
	if wrong != nil {
		return *wrong
	}
	return rest.OKReply(viewSSHKey(k))
}

func deleteSSHKey(c *request.Call) rest.Reply {
	k, wrong := request.FindByID(c, c.World.Site.SSHKeys, "SSHKey")
	if wrong != nil {
		return *wrong
	}
	if k.User != c.User.Name {
		return notYourKeyReply("delete")
	}
	delete(c.World.Site.SSHKeys, k.ID)
	return rest.DeletedReply()
}

func notYourKeyReply(verb string) rest.Reply {
	rep := rest.ErrorReply(http.StatusForbidden, "Can't "+verb+" a key you don't own.")
	rep.Header = rest.APIHeader()
	return rep
}
