# SPDX-License-Identifier: Apache-2.0
"""Images and models through their presets: tokens, redirects to elsewhere, and content that goes by its digest."""

import hashlib
import itertools
import json
import shutil
import urllib.request

from cases.presets import found, packed, twice
from harness.case import case, expect, expect_equal, expect_in
from harness.origin import Answer


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Registry:
    """A registry like Docker Hub: nobody gets anything without a token, and blobs are elsewhere, under signed URLs."""

    def __init__(self, context):
        layer = packed({"hello.txt": b"hello\n" * 1000})
        setup = json.dumps({
            "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
        manifest = json.dumps({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest_of(setup),
                       "size": len(setup)},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest_of(layer),
                        "size": len(layer)}],
        }).encode()
        self.blobs = {digest_of(content): content for content in (layer, setup)}
        self.manifest = manifest
        self.cdn = context.origin({f"/blobs/{digest}": found(content) for digest, content in self.blobs.items()})
        numbers = itertools.count()
        self.tokens = context.origin({"/token": lambda path: found(
            json.dumps({"token": f"t{next(numbers)}", "expires_in": 300}), "application/json")})
        self.origin = context.origin()
        self.signatures = itertools.count()
        self.origin.routes = {None: self.answer}

    def answer(self, path):
        # The harness hands over the path alone, so the token is looked for in what was asked last by the client.
        plain = path.split("?")[0]
        if plain == "/v2/":
            realm = f'Bearer realm="{self.tokens.url}/token",service="registry.example"'
            return Answer(b'{"errors":[]}', 401, {"WWW-Authenticate": realm, "Content-Type": "application/json",
                                                  "Docker-Distribution-Api-Version": "registry/2.0"})
        if "/manifests/" in plain:
            wanted = plain.rsplit("/", 1)[1]
            if wanted in ("latest", digest_of(self.manifest)):
                return found(self.manifest, "application/vnd.oci.image.manifest.v1+json",
                             Docker_Content_Digest=digest_of(self.manifest))
        if "/blobs/" in plain:
            digest = plain.rsplit("/", 1)[1]
            if digest in self.blobs:
                place = f"{self.cdn.url}/blobs/{digest}?signature={next(self.signatures)}"
                return Answer(b"", 307, {"Location": place})
        return Answer(b"{}", 404)


def configured(registry, mount="/"):
    return (
        f"services:\n  dockerhub: {{ preset: dockerhub, baseURL: '{registry.origin.url}/', mount: {mount} }}\n"
        f"  dockerhub-auth: {{ baseURL: '{registry.tokens.url}/' }}\n")


def ask(url, fields=None):
    with urllib.request.urlopen(urllib.request.Request(url, headers=fields or {}), timeout=20) as response:
        return response.read()


@case("preset-oci", "an image with a token through the preset: skopeo where it is installed, else what it would ask")
def oci(context):
    registry = Registry(context)
    daemon = context.daemon(configured(registry))
    origins = [registry.origin, registry.tokens, registry.cdn]
    status, fields, _ = daemon.get("/v2/")
    expect_equal(status, 401, "the registry without a token")
    expect_in(f'realm="http://{daemon.authority}/dockerhub-auth/token"', fields["www-authenticate"], "the realm")
    program = shutil.which("skopeo")

    def copy(number):
        target = context.directory / f"image-{number}"
        context.run([program, "--insecure-policy", "copy", "--quiet", "--src-tls-verify=false",
                     f"docker://{daemon.authority}/library/demo:latest", f"dir:{target}"],
                    environment=context.environment(no_proxy="*", XDG_RUNTIME_DIR=context.directory))
        return sorted((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in target.iterdir())

    def pull(number):
        token = json.loads(ask(f"{daemon.url}/dockerhub-auth/token?scope=repository:library/demo:pull"))["token"]
        said = {"Authorization": f"Bearer {token}"}
        below = f"{daemon.url}/v2/library/demo"
        manifest = ask(f"{below}/manifests/latest", said)
        expect_equal(manifest, registry.manifest, "the manifest")
        blobs = [ask(f"{below}/blobs/{digest}", said) for digest in registry.blobs]
        expect_equal(blobs, list(registry.blobs.values()), "the blobs")
        return blobs

    said = twice(origins, copy if program else pull, leftover=["/v2/"])
    sent = [asked for asked in registry.cdn.asked if "authorization" in asked.fields]
    expect_equal(sent, [], "tokens that another origin was shown")
    return said + (": the ping" if program else " (skopeo is not installed: as it would ask)")


class Hub:
    """The Hugging Face Hub: a small file, and a large one that is elsewhere."""

    COMMIT = "0123456789abcdef0123456789abcdef01234567"

    def __init__(self, context):
        self.small, self.large = b'{"model_type": "demo"}\n', bytes(range(256)) * 4096
        self.digest = hashlib.sha256(self.large).hexdigest()
        self.cdn = context.origin({f"/repos/{self.digest}": found(self.large, ETag=f'"{self.digest}"')})
        self.origin = context.origin()
        named = {"X-Repo-Commit": self.COMMIT, "ETag": f'"{hashlib.sha1(self.small).hexdigest()}"'}
        numbers = itertools.count()

        def far(_):
            return Answer(b"", 302, {
                "Location": f"{self.cdn.url}/repos/{self.digest}?Signature={next(numbers)}",
                "X-Repo-Commit": self.COMMIT, "X-Linked-Size": str(len(self.large)),
                "X-Linked-ETag": f'"{self.digest}"'})

        for revision in ("main", self.COMMIT):
            self.origin.routes[f"/nobody/demo/resolve/{revision}/config.json"] = Answer(
                self.small, 200, {"Content-Type": "application/json", **named})
            self.origin.routes[f"/nobody/demo/resolve/{revision}/model.safetensors"] = far


@case("preset-huggingface", "huggingface_hub through the preset: large files that are elsewhere are kept")
def huggingface(context):
    python, extra = context.python("huggingface_hub")
    hub = Hub(context)
    daemon = context.daemon(f"services:\n  huggingface: {{ preset: huggingface, baseURL: '{hub.origin.url}/' }}\n")
    script = (
        "import sys, hashlib\nfrom huggingface_hub import hf_hub_download\n"
        "for name in ('config.json', 'model.safetensors'):\n"
        "    path = hf_hub_download('nobody/demo', name)\n"
        "    print(name, hashlib.sha256(open(path, 'rb').read()).hexdigest())\n")

    def run(number):
        home = context.directory / f"hf-{number}"
        environment = context.environment(
            HF_ENDPOINT=f"{daemon.url}/huggingface", HF_HOME=home, HF_HUB_DISABLE_XET=1, **extra,
            HF_HUB_DISABLE_TELEMETRY=1, HF_HUB_DISABLE_PROGRESS_BARS=1)
        said = context.run([python, "-c", script], environment=environment).stdout.decode()
        expect_in(hub.digest, said, "the large file")
        expect_in(hashlib.sha256(hub.small).hexdigest(), said, "the small file")
        return said

    said = twice([hub.origin, hub.cdn], run)
    expect(not any("authorization" in asked.fields for asked in hub.cdn.asked), "a token went elsewhere")
    return said
