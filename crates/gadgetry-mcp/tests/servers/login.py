"""A server that requires OAuth, made with the Python SDK: port, lifetime of tokens in seconds, and `deny` to refuse logins."""

import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizeError,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

port, lifetime, denies = int(sys.argv[1]), int(sys.argv[2]), "deny" in sys.argv
url = f"http://127.0.0.1:{port}"


class AnyPort(OAuthClientInformationFull):
    """A client that may be redirected to any port of this machine"""

    def validate_redirect_uri(self, redirect_uri):
        return redirect_uri


class Provider:
    def __init__(self):
        known = AnyPort(
            client_id="known",
            client_secret="s3cret-of-client",
            redirect_uris=["http://127.0.0.1/callback"],
            token_endpoint_auth_method="client_secret_post",
            grant_types=["authorization_code", "refresh_token"],
            scope="use",
        )
        self.clients, self.codes, self.tokens, self.refresh = {"known": known}, {}, {}, {}
        self.refreshed = 0

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        if denies:
            raise AuthorizeError("access_denied", "not\x1b[2J today")
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or ["use"],
            expires_at=time.time() + 600,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    def issue(self, client, scopes, resource):
        access, refresh = "access-" + secrets.token_hex(20), "refresh-" + secrets.token_hex(20)
        names = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        self.tokens[access] = AccessToken(token=access, **names)
        self.refresh[refresh] = RefreshToken(token=refresh, **names)
        return OAuthToken(
            access_token=access, expires_in=lifetime, refresh_token=refresh, scope=" ".join(scopes)
        )

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.refreshed += 1
        # Each is valid once.
        del self.refresh[refresh_token.token]
        return self.issue(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        return self.tokens.get(token)

    async def revoke_token(self, token):
        pass


provider = Provider()
server = MCPServer(
    "login",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=url,
        resource_server_url=f"{url}/mcp",
        validate_token_resource=True,
        required_scopes=["use"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["use"], default_scopes=["use"]
        ),
    ),
)


@server.tool(structured_output=False)
def refreshed() -> str:
    """How often tokens were refreshed"""
    return str(provider.refreshed)


@server.tool(structured_output=False)
def forget() -> str:
    """Makes all tokens invalid"""
    provider.tokens.clear()
    provider.refresh.clear()
    return "forgotten"


server.run("streamable-http", port=port)
