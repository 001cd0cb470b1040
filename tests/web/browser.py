"""tests/web/browser.py - a real Chromium, driven by the protocol of WebDriver

chromedriver listens on a free port of loopback; the standard library speaks to it. As
root, as in CI, Chromium has no sandbox: it opens only pages of this tree.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'fault'))
from programs import Wrong, free_addresses

START_S = 60
WAIT_S = 30
CALL_S = 60
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
KEYS = {'Enter': '\ue007', 'Tab': '\ue004', 'Up': '\ue013', 'Down': '\ue015',
        'Left': '\ue012', 'Right': '\ue014'}


def require():
    """Exit with 77 where there is no browser, unless HOOP_REQUIRE_BROWSER is set."""
    for program in ('chromium', 'chromedriver'):
        if not shutil.which(program):
            if os.environ.get('HOOP_REQUIRE_BROWSER'):
                sys.exit(f'{program} is not installed: deploy/install-deps.sh ci')
            print(f'skipped: {program} is not installed (deploy/install-deps.sh ci)')
            sys.exit(77)


class Browser:
    """A browser with one window, which the user must close."""

    def __init__(self, width=1100, height=900, scheme='light', motion=None, scale=1):
        self.folder = tempfile.mkdtemp(prefix='hoop-browser-')
        self.session = None
        (host, port), = free_addresses(1)
        self.base = f'http://{host}:{port}'
        with open(os.path.join(self.folder, 'driver.log'), 'wb') as log:
            self.driver = subprocess.Popen(
                ['chromedriver', f'--port={port}'], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=os.environ | {'HOME': self.folder})
        try:
            self.begin(width, height, scale)
            self.media(scheme, motion)
        except BaseException:
            self.close()
            raise

    def begin(self, width, height, scale):
        self.await_true('chromedriver is ready', self.is_ready, START_S)
        options = {
            'binary': shutil.which('chromium'),
            'args': ['--headless=new', '--disable-gpu', '--disable-dev-shm-usage',
                     '--no-first-run', '--disable-extensions', '--lang=en',
                     '--no-proxy-server', '--hide-scrollbars', f'--window-size={width},{height}',
                     f'--user-data-dir={self.folder}/profile']
            + (['--no-sandbox'] if os.geteuid() == 0 else []),
        }
        answer = self.call('POST', '/session', {'capabilities': {'alwaysMatch': {
            'goog:chromeOptions': options,
            'goog:loggingPrefs': {'browser': 'ALL'}}}})
        self.session = '/session/' + answer['sessionId']
        # A window cannot be as narrow as a phone; its page can.
        self.cdp('Emulation.setDeviceMetricsOverride', width=width, height=height,
                 deviceScaleFactor=scale, mobile=False)

    def media(self, scheme, motion=None):
        features = [{'name': 'prefers-color-scheme', 'value': scheme}]
        if motion:
            features.append({'name': 'prefers-reduced-motion', 'value': motion})
        self.cdp('Emulation.setEmulatedMedia', features=features)

    def is_ready(self):
        try:
            return self.call('GET', '/status')['ready']
        except OSError:
            if self.driver.poll() is not None:
                raise Wrong('chromedriver has ended') from None
            return False

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={'Content-Type': 'application/json'})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=CALL_S) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            told = json.load(error)['value']
            raise Wrong(f"{path}: {told['error']}: {told['message'][:2000]}") from None

    def do(self, what, **body):
        return self.call('POST', f'{self.session}/{what}', body)

    def cdp(self, command, **parameters):
        return self.do('goog/cdp/execute', cmd=command, params=parameters)

    def open(self, address):
        self.do('url', url=address)

    def run(self, script, *arguments):
        """Return what the script, the body of a function, returns."""
        return self.do('execute/sync', script=script, args=list(arguments))

    def find(self, selector):
        return self.do('element', using='css selector', value=selector)[ELEMENT]

    def click(self, selector):
        self.do(f'element/{self.find(selector)}/click')

    def type(self, selector, text):
        self.do(f'element/{self.find(selector)}/value', text=text)

    def press(self, *keys):
        """Press keys one after another; they go to the element with the focus."""
        actions = [{'type': step, 'value': KEYS.get(key, key)}
                   for key in keys for step in ('keyDown', 'keyUp')]
        self.do('actions', actions=[{'type': 'key', 'id': 'keys', 'actions': actions}])

    def text(self, selector):
        """Return the text that is shown there, or '' if there is none."""
        return self.run('const node = document.querySelector(arguments[0]);'
                        'return node && node.checkVisibility() ? node.innerText : "";',
                        selector)

    def rows(self, selector):
        """Return the texts of the cells of each row of a table's body."""
        return self.run(
            'return [...document.querySelectorAll(arguments[0] + " tbody tr")]'
            '.map((row) => [...row.children].map((cell) => cell.innerText));', selector)

    def messages(self):
        """Return the new messages of the console, but not those of the browser's own
        pages. Those about failed requests are left out, because some tests make requests
        fail."""
        return [entry['message'] for entry in self.do('se/log', type='browser')
                if entry['source'] != 'network'
                and not entry['message'].startswith('chrome://')]

    def await_true(self, what, condition, seconds=WAIT_S):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            result = condition()
            if result:
                return result
            time.sleep(0.05)
        raise Wrong(f'{what}: not within {seconds} s')

    def await_text(self, selector, words, seconds=WAIT_S):
        try:
            return self.await_true(f'{selector} shows "{words}"',
                                   lambda: words in self.text(selector), seconds)
        except Wrong as error:
            raise Wrong(f'{error}, but "{self.text(selector)}"') from None

    def screenshot(self, path, is_whole=True):
        size = self.run('return [document.documentElement.scrollWidth,'
                        'document.documentElement.scrollHeight, innerHeight];')
        clip = {'x': 0, 'y': 0, 'width': size[0],
                'height': max(size[1:]) if is_whole else size[2], 'scale': 1}
        shot = self.cdp('Page.captureScreenshot', format='png', clip=clip,
                        captureBeyondViewport=is_whole)
        with open(path, 'wb') as out:
            out.write(base64.b64decode(shot['data']))

    def close(self):
        try:
            if self.session:
                self.call('DELETE', self.session)
        except (OSError, Wrong):
            pass
        self.driver.terminate()
        try:
            self.driver.wait(10)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
