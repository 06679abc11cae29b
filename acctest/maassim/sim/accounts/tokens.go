package accounts

import (
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

var tokenRoutes = []request.Route{
	{Method: http.MethodGet, Path: "account/", Op: "list_authorisation_tokens", Handle: listTokens},
	{Method: http.MethodPost, Path: "account/", Op: "create_authorisation_token", Handle: createToken},
	{Method: http.MethodPost, Path: "account/", Op: "delete_authorisation_token", Handle: deleteToken},
	{Method: http.MethodPost, Path: "account/", Op: "update_token_name", Handle: renameToken},
}

func listTokens(c *request.Call) rest.Reply {
	views := []rest.Object{}
	for _, t := range c.User.Tokens {
		views = append(views, rest.Object{"name": t.Name, "token": t.String()})
	}
	return rest.OKReply(views)
}

func createToken(c *request.Call) rest.Reply {
	t := world.NewToken(c.World, c.Field("name"))
	if c.HasField("name") {
		t.Name = c.Field("name")
	}
	c.User.Tokens = append(c.User.Tokens, t)
	return rest.OKReply(rest.Object{"token_key": t.Key, "token_secret": t.Secret, "consumer_key": t.Consumer, "name": t.Name})
}

// tokenOf finds a token of the caller by its key.
func tokenOf(u *world.User, key string) *world.Token {
	i := slices.IndexFunc(u.Tokens, func(t *world.Token) bool { return t.Key == key })
	if i < 0 {
		return nil
	}
	return u.Tokens[i]
}

// deleteToken also deletes the token that signed the call.
func deleteToken(c *request.Call) rest.Reply {
	if !c.HasField("token_key") {
		return rest.BadTextReply("No provided token_key!")
	}
	t := tokenOf(c.User, c.Field("token_key"))
	if t == nil {
		return rest.NoObjectReply("Token")
	}
	c.User.Tokens = slices.DeleteFunc(c.User.Tokens, func(other *world.Token) bool { return other == t })
	return rest.DeletedReply()
}

func renameToken(c *request.Call) rest.Reply {
	if !c.HasField("token") {
		return rest.BadTextReply("No provided token!")
	}
	key := c.Field("token")
	if parts := strings.Split(key, ":"); len(parts) == 3 {
		key = parts[1]
	}
	if !c.HasField("name") {
		return rest.BadTextReply("No provided name!")
	}
	t := tokenOf(c.User, key)
	if t == nil {
		return rest.NoObjectReply("Token")
	}
	t.Name = c.Field("name")
	return rest.Reply{Status: http.StatusAccepted, Kind: rest.TypePlain, Header: rest.APIHeader(), Body: []byte("Accepted")}
}
