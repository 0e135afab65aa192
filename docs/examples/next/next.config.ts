// A server that needs only its own folder: Next copies the packages it uses beside it.
import type { NextConfig } from 'next';

const config: NextConfig = { output: 'standalone' };

export default config;
