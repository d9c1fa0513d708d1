# racebot as a container: `docker build -t racebot .`, or see deploy/compose.yaml.
#
# Settings come from the environment or from files mounted into /srv/racebot, and a secret from the file that
# RACEBOT_CLIENT_SECRET_FILE names. No secret belongs in the image.

FROM python:3.13-slim AS build

RUN python -m venv --without-pip /opt/racebot
WORKDIR /source
# The dependencies rarely change, so they come first and stay in Docker's cache.
COPY deploy/requirements.txt ./
RUN pip --python /opt/racebot/bin/python install --no-cache-dir --require-hashes --only-binary=:all: \
        --requirement requirements.txt \
    # A third of NumPy and SciPy are their own tests, and sqlite-utils needs pip only for its plugins.
    && find /opt/racebot -type d \( -name tests -o -name pip -o -name 'pip-*' \) -prune -exec rm -r {} +
COPY pyproject.toml README.md LICENSE ./
COPY racebot racebot
RUN pip --python /opt/racebot/bin/python install --no-cache-dir --no-deps .


FROM python:3.13-slim

# Cards need a font for emoji, and FriBidi to join Arabic letters. The program and its folder belong to root;
# the bot may write into state/ alone. Debian removes replaced versions, so pinned ones could not be installed later.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends fonts-noto-color-emoji libfribidi0 \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 racebot \
    && useradd --uid 10001 --gid racebot --no-create-home --home-dir /srv/racebot --shell /usr/sbin/nologin racebot \
    && install --directory --owner=racebot --group=racebot --mode=0750 /srv/racebot/state
COPY --from=build /opt/racebot /opt/racebot

ENV PATH=/opt/racebot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /srv/racebot
VOLUME ["/srv/racebot/state"]
USER 10001:10001

# Exit code 0 while the worker has seen its category within the last five minutes.
HEALTHCHECK --interval=1m --timeout=15s --start-period=2m --retries=3 CMD ["racebot", "health"]

ENTRYPOINT ["racebot"]
CMD ["run"]
