import { isWellFormedName } from '../../domain/instance.js';

/** Names of the VPC product: 1 to 128 characters, no URL in front. Empty takes a name away. */
export function isVpcName(name: string | undefined): boolean {
  return name === undefined || name === '' || isWellFormedName(name, 1, 128);
}

/** Descriptions of the VPC product: 1 to 256 characters, no URL in front. Empty takes one away. */
export function isVpcDescription(description: string | undefined): boolean {
  return description === undefined || description === '' || isWellFormedName(description, 1, 256);
}

/** Members of a list that the VPC product takes as one text with commas. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
